#pragma once

#include "planner/host_costs.h"
#include "planner/host_work.h"
#include "planner/machine.h"
#include "schedule/schedule.h"

#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// What ranks cost that share the memory of one host: the time of a collective is what its plans make the cores do
/// (planner/host_work.h), times the seconds that each of it takes.
struct HostModel {
  HostCosts seconds;

  double predict(const HostJob& job, const HostOperation& operation, const Machine& machine) const;
};

/// One measurement.
struct HostSample {
  Collective collective = Collective::kAllReduce;
  std::string algorithm;
  int ranks = 0;
  double bytes = 0;
  double seconds = 0;
  std::shared_ptr<const HostJob> job;  ///< none where the sample was read from a file
};

/// The model that fits the samples best: the least sum of relative errors (nearly; of their squares where they are
/// below 20 %), so that samples that something else disturbed count little; no cost below 0. Throws Error
/// (kInvalidArgument) without samples.
HostModel fit(const std::vector<HostSample>& samples, const Machine& machine);

/// How far predictions are from samples: |predicted - measured| / measured.
struct PredictionError {
  double median = 0;
  double worst = 0;
};
PredictionError error_of(const HostModel& model, const std::vector<HostSample>& samples, const Machine& machine);

}  // namespace lockstep
