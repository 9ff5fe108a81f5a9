#pragma once

#include "planner/one_host/relative_fit.h"
#include "planner/one_host/sample.h"

#include <algorithm>
#include <vector>

namespace lockstep {

/// The prices (a CostVector) by which work comes nearest to the samples' seconds (fit_relative()), where work depends
/// on the prices in turn, since they say who waits for whom: beginning with a guess, fitting and `work_of(sample,
/// prices)` alternate, four times.
template <class Costs, class WorkOf>
Costs fit_costs(Costs prices, const std::vector<Sample>& samples, const WorkOf& work_of) {
  constexpr int kRounds = 4;
  std::vector<double> seconds;
  seconds.reserve(samples.size());
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  for (int round = 0; round < kRounds; ++round) {
    Amounts works;
    works.reserve(samples.size());
    for (const Sample& sample : samples) {
      const Costs work = work_of(sample, prices);
      works.emplace_back(work.values.begin(), work.values.end());
    }
    const std::vector<double> found = fit_relative(works, seconds);
    std::copy(found.begin(), found.end(), prices.values.begin());
  }
  return prices;
}

}  // namespace lockstep
