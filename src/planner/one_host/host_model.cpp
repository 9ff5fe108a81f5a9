#include "planner/one_host/host_model.h"

#include "planner/one_host/fit_costs.h"

#include <lockstep/error.h>

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

}  // namespace

double HostModel::predict(const HostJob& job, const HostOperation& operation, const Machine& machine) const {
  return work_of(job, operation, machine, seconds) * seconds;
}

HostModel fit(const std::vector<Sample>& samples, const Machine& machine) {
  if (samples.empty())
    throw Error(ErrorCode::kInvalidArgument, "Without a measurement there is nothing to calibrate by.");
  return {fit_costs(first_guess(), samples, [&](const Sample& sample, const HostCosts& prices) {
    return work_of(*sample.job, {sample.bytes}, machine, prices);
  })};
}

}  // namespace lockstep
