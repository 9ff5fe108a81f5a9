#pragma once

#include "transport/shm/arena.h"
#include "transport/shm/board.h"
#include "transport/shm/lifeline.h"
#include "transport/transport.h"

#include <memory>
#include <vector>

namespace lockstep::shm {

/// What a rank holds of its host's ranks once they have found each other (join.h for processes, thread_host.h for
/// threads).
struct Host {
  int rank = 0;
  std::shared_ptr<RankSlot> slots;             ///< one a rank, in memory shared by all
  std::shared_ptr<Arena> arena;                ///< this rank's own registered memory
  std::vector<std::byte*> memory;              ///< where each rank's arena is mapped here, our own included
  std::shared_ptr<void> peer_memory_owner;     ///< keeps peers' arenas mapped
  Lifeline lifeline;                           ///< ours; the peers watch the other end
  std::vector<FileDescriptor> peer_lifelines;  ///< theirs, by rank; empty where the peers are threads
  int ranks_here = 0;  ///< how many ranks share this machine's cores, if more than are in the group
};

/// Shared memory between the processes, or threads, of one host. Marks this rank as there; as gone when destroyed.
std::unique_ptr<Transport> create(Host host);

}  // namespace lockstep::shm
