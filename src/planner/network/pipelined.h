#pragma once

#include "schedule/schedule.h"
#include "topology/wiring.h"

namespace lockstep {

/// The seconds that a schedule takes over byte streams (MessageOperation), which hand on what has come while the rest
/// arrives, in pieces as small as they come: those of the pipeline of it (schedule/segmented.h) that is the fastest in
/// simulated time. Cut twice as often as long as that is faster.
double pipelined_seconds(const Schedule& schedule, double bytes, const Wiring& wiring);

}  // namespace lockstep
