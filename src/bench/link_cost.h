#pragma once

#include "planner/medium.h"
#include "topology/network.h"

namespace lockstep::bench {

/// What the textbook's network between two ranks of this machine costs, measured in less than a second: alpha, half a
/// round trip of the smallest message; beta, a byte of one of 4 MiB; gamma, a byte of a sum whose operands lie in
/// a core's own cache. The ranks are threads, each bound to a core as the launcher binds processes. Throws Error as a
/// world over the medium does.
FlatCost measure_link(Medium medium);

}  // namespace lockstep::bench
