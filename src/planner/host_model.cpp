#include "planner/host_model.h"

#include <lockstep/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep {

namespace {

using Row = std::array<double, HostCosts::kCount>;

/// The costs, 0 or above, whose sum over the columns comes nearest to 1 in every row, by least squares with a weight a
/// row.
Row nonnegative_least_squares(const std::vector<Row>& rows, const std::vector<double>& weights) {
  constexpr std::size_t kCount = HostCosts::kCount;
  std::array<Row, kCount> products{};
  Row targets{};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < kCount; ++i) {
      targets[i] += weights[r] * rows[r][i];
      for (std::size_t j = 0; j < kCount; ++j) products[i][j] += weights[r] * rows[r][i] * rows[r][j];
    }
  }
  // Coordinate descent with every cost held at 0 or above; convex, so it ends at the best one.
  Row found{};
  constexpr int kRounds = 200000;
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (products[i][i] <= 0) continue;
      double slope = targets[i];
      for (std::size_t j = 0; j < kCount; ++j) slope -= products[i][j] * found[j];
      const double next = std::max(0.0, found[i] + slope / products[i][i]);
      moved = std::max(moved, std::abs(next - found[i]));
      found[i] = next;
    }
    if (moved < 1e-12) break;
  }
  return found;
}

double product(const Row& a, const Row& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// To begin with, so that it is roughly known who waits for whom: a processor of 2023.
HostCosts first_guess() {
  HostCosts seconds;
  seconds[HostCosts::kOperation] = 1e-7;
  seconds[HostCosts::kSwitch] = 7e-7;
  seconds[HostCosts::kProgress] = 2e-7;
  seconds[HostCosts::kMove] = 4e-8;
  seconds[HostCosts::kByte] = 8e-12;
  for (std::size_t level = 0; level < HostCosts::kLevels; ++level) seconds[HostCosts::kFirstLevel + level] = 1e-11;
  seconds[HostCosts::kFetchedByte] = 5e-11;
  seconds[HostCosts::kJustWrittenByte] = 1e-10;
  seconds[HostCosts::kStreamedByte] = 2e-11;
  return seconds;
}

/// The costs whose sums come nearest to the samples' seconds, where operations have so much of each.
HostCosts nearest(const std::vector<HostCosts>& works, const std::vector<HostSample>& samples) {
  Row scale{};  // so that costs of very different size are found equally well
  for (std::size_t r = 0; r < samples.size(); ++r) {
    for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = std::max(scale[i], works[r][i] / samples[r].seconds);
  }
  std::vector<Row> rows(samples.size());  // of the share that each cost has in the time: the errors are relative
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < scale.size(); ++i) {
      rows[r][i] = scale[i] > 0 ? works[r][i] / samples[r].seconds / scale[i] : 0;
    }
  }
  // Least squares with the errors of the time before as weights end at the least sum of errors.
  constexpr int kReweighted = 12;
  constexpr double kSmallError = 0.2;
  std::vector<double> weights(rows.size(), 1);
  Row found{};
  for (int round = 0; round < kReweighted; ++round) {
    found = nonnegative_least_squares(rows, weights);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      weights[r] = kSmallError / std::max(kSmallError, std::abs(product(rows[r], found) - 1));
    }
  }
  HostCosts seconds;
  for (std::size_t i = 0; i < found.size(); ++i) seconds[i] = scale[i] > 0 ? found[i] / scale[i] : 0;
  return seconds;
}

}  // namespace

double HostModel::predict(const HostJob& job, const HostOperation& operation, const Machine& machine) const {
  return work_of(job, operation, machine, seconds) * seconds;
}

HostModel fit(const std::vector<HostSample>& samples, const Machine& machine) {
  if (samples.empty())
    throw Error(ErrorCode::kInvalidArgument, "Without a measurement there is nothing to calibrate by.");
  // Who waits for whom depends on what each cost takes, and the other way about.
  constexpr int kRounds = 4;
  HostModel model{first_guess()};
  for (int round = 0; round < kRounds; ++round) {
    std::vector<HostCosts> works;
    works.reserve(samples.size());
    for (const HostSample& sample : samples) {
      works.push_back(work_of(*sample.job, {sample.bytes}, machine, model.seconds));
    }
    model.seconds = nearest(works, samples);
  }
  return model;
}

PredictionError error_of(const HostModel& model, const std::vector<HostSample>& samples, const Machine& machine) {
  std::vector<double> errors;
  errors.reserve(samples.size());
  for (const HostSample& sample : samples) {
    const double predicted = model.predict(*sample.job, {sample.bytes}, machine);
    errors.push_back(std::abs(predicted - sample.seconds) / sample.seconds);
  }
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {errors[errors.size() / 2], errors.back()};
}

}  // namespace lockstep
