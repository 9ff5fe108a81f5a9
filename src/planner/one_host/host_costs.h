#pragma once

#include "planner/one_host/cost_vector.h"

#include <cstddef>

namespace lockstep {

/// What takes time where ranks share the memory of a host.
struct HostCost {
  static constexpr std::size_t kLevels = 10;
  enum Cost : std::size_t {
    kOperation,
    kSwitch,    ///< a core goes on to another of its ranks, to look whether it can go on
    kProgress,  ///< a peer's progress is read, which another core has written since
    kMove,      ///< a pass over a chunk
    kByte,      ///< read or written
    /// Again, a byte that is brought from beyond the core's first cache; a half, three quarters, all and one and a half
    /// of its own one: by how much the core touched since it had it; an eighth, a quarter, half, all and twice of the
    /// shared one: by how much all of them touched (HostCaches).
    kFirstLevel,
    kMemoryByte = kFirstLevel + 5,            ///< the level from which on it comes from memory
    kTranslatedByte = kFirstLevel + kLevels,  ///< again, of pages whose translation the core has lost meanwhile
    kFetchedByte,                             ///< from another core's own cache, where it was written
    kJustWrittenByte,                         ///< of those, again, what is still in that core's first cache
    kSharedWriteByte,                         ///< written where another core has read since, whose copy has to go first
    kSharedWriteOwnByte,                      ///< of those, again, what is still in that core's own cache
    kSharedCopyByte,                          ///< the same two, where one operand is copied there instead of a sum:
    kSharedCopyOwnByte,                       ///< copies need not have what is there
    kContendedByte,                           ///< fetched or so written, again, while all other cores are busy too
    kStreamedByte,                            ///< written past the caches
    kFromMemory,                              ///< a pass waits for the first line of what was so written
    kTogetherByte,                            ///< that all cores bring from memory or stream, which they share
    kLetter,                                  ///< instead of all these: a small exchange of one step
    kLetterByte,                              ///< that crosses from other cores to the busiest one
    kCount
  };
};

/// How much of each an operation does, or the seconds that one of each takes.
using HostCosts = CostVector<HostCost>;

}  // namespace lockstep
