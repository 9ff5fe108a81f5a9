#pragma once

#include "schedule/refusal.h"
#include "schedule/schedule.h"

#include <optional>
#include <vector>

namespace lockstep {

/// One half of a transfer, as its rank posts it.
struct TransferHalf {
  Transfer transfer;
  int step;
  bool is_send;
};

/// Of each rank what it posts, step after step; of a step in which it rests there is nothing.
using Posts = std::vector<std::vector<TransferHalf>>;

/// Those of a schedule whose ranks are in range.
Posts posts_of(const Schedule& schedule);

/// Runs what all ranks post as if every send waited for its receive: a rank posts all of a step, then waits until each
/// of its sends and receives has met its other half; halves of a pair of ranks meet in the order posted. Refused if two
/// halves that meet are not the same transfer or not of the same step, and if ranks wait for ever.
std::optional<Refusal> check_rendezvous(const Posts& posts);

}  // namespace lockstep
