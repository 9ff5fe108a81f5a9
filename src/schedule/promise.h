#pragma once

#include "base/collective.h"
#include "schedule/schedule.h"

#include <array>

/// What a collective promises, chunk by chunk: who has something of it at the start, and who must have all at the end.
namespace lockstep {

inline constexpr std::array kCollectives{Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
                                         Collective::kBroadcast, Collective::kReduce,        Collective::kGather,
                                         Collective::kScatter,   Collective::kAllToAll,      Collective::kBarrier};

/// Whether a chunk is finished by the contributions of all ranks; elsewhere it has one, which is only copied. A barrier
/// combines who has been heard from, though it sums nothing (sums_values).
inline bool is_reduction(Collective collective) {
  return sums_values(collective) || collective == Collective::kBarrier;
}

/// Into how many blocks the buffer falls that belong to somebody: `chunks` is a multiple of it.
int blocks_of(Collective collective, int ranks);
inline bool has_blocks(Collective collective) { return blocks_of(collective, 2) > 1; }

/// Whether the rank has a contribution to the chunk when the schedule starts.
bool contributes(const Schedule& schedule, int rank, int chunk);

/// Whether the collective promises the finished chunk to the rank.
bool must_end_with(const Schedule& schedule, int rank, int chunk);

}  // namespace lockstep
