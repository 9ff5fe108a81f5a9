#pragma once

#include "planner/one_host/relative_fit.h"
#include "planner/one_host/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lockstep {

/// Works as the equations have them.
template <class Costs>
Amounts amounts_of(const std::vector<Costs>& works) {
  Amounts amounts;
  amounts.reserve(works.size());
  for (const Costs& work : works) amounts.emplace_back(work.values.begin(), work.values.end());
  return amounts;
}

/// How far works at these prices are from the seconds, as a part of them, in the mean.
template <class Costs>
double mean_error(const std::vector<Costs>& works, const Costs& prices, const std::vector<Sample>& samples) {
  double error = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) error += std::abs(works[i] * prices / samples[i].seconds - 1);
  return error / static_cast<double>(samples.size());
}

/// The prices (a CostVector) by which work comes nearest to the samples' seconds (fit_relative()), where work depends
/// on the prices in turn, since they say who waits for whom: beginning with a guess, fitting and `work_of(sample,
/// prices)` alternate. That need not settle, so of all prices those count that explain the samples best with the work
/// that they themselves lead to.
template <class Costs, class WorkOf>
Costs fit_costs(Costs prices, const std::vector<Sample>& samples, const WorkOf& work_of) {
  constexpr int kRounds = 6;
  std::vector<double> seconds;
  seconds.reserve(samples.size());
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  Costs best = prices;
  double least_error = std::numeric_limits<double>::infinity();
  for (int round = 0; round <= kRounds; ++round) {
    std::vector<Costs> works;
    works.reserve(samples.size());
    for (const Sample& sample : samples) works.push_back(work_of(sample, prices));
    if (const double error = mean_error(works, prices, samples); error < least_error) {
      least_error = error;
      best = prices;
    }
    if (round == kRounds) break;
    const std::vector<double> found = fit_relative(amounts_of(works), seconds);
    std::copy(found.begin(), found.end(), prices.values.begin());
  }
  return best;
}

}  // namespace lockstep
