#pragma once

#include "planner/one_host/host_costs.h"
#include "planner/one_host/machine.h"
#include "runtime/plan.h"
#include "schedule/schedule.h"

#include <vector>

namespace lockstep {

/// The largest buffer, the whole of it, whose exchange goes as letters; 0 where none does.
double most_letter_bytes(const Schedule& schedule);

/// A schedule with the plans that run it where ranks share memory, to be priced at any size. Buffers are registered.
struct HostJob {
  explicit HostJob(Schedule of);
  Schedule schedule;
  bool is_staged;            ///< what ranks read of each other is copied first, so that the data lies there twice
  double most_letter_bytes;  ///< as most_letter_bytes() says
  std::vector<Plan> plans;   ///< by rank
};

/// An operation to be priced.
struct HostOperation {
  double bytes = 0;            ///< of the whole buffer
  double touched_between = 0;  ///< bytes that a rank touches between two of them beside their buffers, as training does
};

/// What a rank touches in an iteration of training, at least, by the bytes of its model: parameters, gradients and the
/// two moments of Adam.
inline constexpr double kTouchedPerModelByte = 4;

/// How much of what costs time one operation has, as `lockstep bench` times it (as_timed()), along the longest chain of
/// what had to wait for what. Where few operations are timed together every rank has just written its buffers.
///
/// Found by letting the plans run on the machine's cores, of which neighbours share one: a core runs a rank until it
/// has to wait, then looks at its next; `seconds`, the price of each cost, says who comes when. Which cache data comes
/// from follows from what the cores have touched since (HostCaches). Nothing is known of the algorithm but its plans.
HostCosts work_of(const HostJob& job, const HostOperation& operation, const Machine& machine, const HostCosts& seconds);

}  // namespace lockstep
