#pragma once

#include "schedule/refusal.h"
#include "schedule/view.h"

#include <optional>
#include <vector>

namespace lockstep {

/// Runs the views of all ranks (views[r] is rank r's) as if every send waited for its receive: a rank posts all of a
/// step, then waits until each of its sends and receives has met its other half; halves of a pair of ranks meet in the
/// order posted. Refused if two halves that meet are not the same transfer or not of the same step, and if ranks wait
/// for ever.
std::optional<Refusal> check_rendezvous(const std::vector<RankView>& views);

}  // namespace lockstep
