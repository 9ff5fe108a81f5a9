#pragma once

#include "schedule/schedule.h"

#include <array>

/// What a collective promises, chunk by chunk: who has something of it at the start, and who must have all at the end.
namespace lockstep {

inline constexpr std::array kCollectives{Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
                                         Collective::kBroadcast, Collective::kReduce,        Collective::kGather,
                                         Collective::kScatter,   Collective::kAllToAll,      Collective::kBarrier};

/// Whether contributions of all ranks are summed; elsewhere each chunk has one contribution, which is only copied.
bool is_reduction(Collective collective);

/// The same but for a barrier, which combines nothing but who has been heard from: once or twice, in any order.
inline bool sums_values(Collective collective) {
  return is_reduction(collective) && collective != Collective::kBarrier;
}

/// Whether one rank is the one that it starts from or ends at.
bool has_root(Collective collective);

/// Into how many blocks the buffer falls that belong to somebody: `chunks` is a multiple of it.
int blocks_of(Collective collective, int ranks);
inline bool has_blocks(Collective collective) { return blocks_of(collective, 2) > 1; }

/// Whether the rank has a contribution to the chunk when the schedule starts.
bool contributes(const Schedule& schedule, int rank, int chunk);

/// Whether the collective promises the finished chunk to the rank.
bool must_end_with(const Schedule& schedule, int rank, int chunk);

}  // namespace lockstep
