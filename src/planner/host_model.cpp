#include "planner/host_model.h"

#include "planner/relative_fit.h"

#include <lockstep/error.h>

#include <algorithm>

namespace lockstep {

namespace {

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

/// The prices by which operations that have so much of each cost come nearest to the samples' seconds.
HostCosts nearest(const Amounts& works, const std::vector<double>& seconds) {
  const std::vector<double> prices = fit_relative(works, seconds);
  HostCosts found;
  std::copy(prices.begin(), prices.end(), found.values.begin());
  return found;
}

}  // namespace

double HostModel::predict(const HostJob& job, const HostOperation& operation, const Machine& machine) const {
  return work_of(job, operation, machine, seconds) * seconds;
}

HostModel fit(const std::vector<Sample>& samples, const Machine& machine) {
  if (samples.empty())
    throw Error(ErrorCode::kInvalidArgument, "Without a measurement there is nothing to calibrate by.");
  // Who waits for whom depends on what each cost takes, and the other way about.
  constexpr int kRounds = 4;
  HostModel model{first_guess()};
  std::vector<double> seconds;
  seconds.reserve(samples.size());
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  for (int round = 0; round < kRounds; ++round) {
    Amounts works;
    works.reserve(samples.size());
    for (const Sample& sample : samples) {
      const HostCosts work = work_of(*sample.job, {sample.bytes}, machine, model.seconds);
      works.emplace_back(work.values.begin(), work.values.end());
    }
    model.seconds = nearest(works, seconds);
  }
  return model;
}

PredictionError error_of(const HostModel& model, const std::vector<Sample>& samples, const Machine& machine) {
  return error_of(samples, [&](const Sample& sample) { return model.predict(*sample.job, {sample.bytes}, machine); });
}

}  // namespace lockstep
