#pragma once

#include "schedule/schedule.h"
#include "topology/wiring.h"

#include <limits>
#include <optional>
#include <vector>

namespace lockstep {

/// How long a schedule takes on a network, and what was busy.
struct Simulation {
  double seconds = 0;
  std::vector<double> rank_seconds;  ///< when each rank was done
  std::vector<double> busy_seconds;  ///< of each of the wiring's resources

  /// The share of the time in which a resource was in use, 0 to 1.
  double use_of(int resource) const {
    return seconds > 0 ? busy_seconds[static_cast<std::size_t>(resource)] / seconds : 0;
  }
};

/// Carries a whole schedule out in simulated time:
///   - what a rank sends another in a step is one message;
///   - a message starts when both its ranks have all their messages of earlier steps behind them;
///   - it takes, of every resource on its way, first the time of a message, then (after the latency) that of its bytes;
///     after that its receiver reduces what is to be reduced;
///   - who wants a resource at the same time shares it: all messages are slowed by one factor until some resource is
///     full, those that use it keep that factor, the others share what is left (max-min fairness).
/// The schedule's ranks are those of the network (proved, or from the catalogue: links of a rank with itself are not
/// looked for).
Simulation simulate(const Schedule& schedule, double bytes, const Wiring& wiring);

/// What a simulation may take. Transfers do not tell it: where the messages of one step end one after another, as those
/// of a full exchange between hosts of many sizes, each end has all the others looked at again.
struct Effort {
  double messages_at_once = std::numeric_limits<double>::infinity();  ///< of one step: all are in memory
  double looked_at = std::numeric_limits<double>::infinity();         ///< FairSharing::looked_at()
};

/// The same, which takes what it takes from `left`; none if that is not enough, and then nothing is left to look at.
std::optional<Simulation> simulate_within(Effort& left, const Schedule& schedule, double bytes, const Wiring& wiring);

}  // namespace lockstep
