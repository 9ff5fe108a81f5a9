#pragma once

#include "planner/one_host/host_costs.h"
#include "planner/one_host/host_work.h"
#include "planner/one_host/machine.h"
#include "planner/one_host/sample.h"

#include <vector>

namespace lockstep {

/// What ranks cost that share the memory of one host: the time of a collective is what its plans make the cores do
/// (planner/one_host/host_work.h), times the seconds that each of it takes.
struct HostModel {
  HostCosts seconds;

  double predict(const HostJob& job, const HostOperation& operation, const Machine& machine) const;
};

/// The model that fits the samples best (fit_costs()). Throws Error (kInvalidArgument) without samples.
HostModel fit(const std::vector<Sample>& samples, const Machine& machine);

}  // namespace lockstep
