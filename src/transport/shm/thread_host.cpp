#include "transport/shm/thread_host.h"

namespace lockstep::shm {

std::vector<Host> thread_hosts(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  const std::shared_ptr<RankSlot> slots(new RankSlot[count], std::default_delete<RankSlot[]>());
  auto arenas = std::make_shared<std::vector<std::shared_ptr<Arena>>>();
  std::vector<std::byte*> memory;
  for (int rank = 0; rank < ranks; ++rank) {
    arenas->push_back(Arena::create(Arena::default_bytes(ranks), rank));
    memory.push_back(arenas->back()->mapping().data());
    // Every thread is there from the start, if not yet running: none may be taken for absent.
    slots.get()[rank].enter();
  }
  std::vector<Host> hosts(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    hosts[rank] = {.rank = static_cast<int>(rank),
                   .slots = slots,
                   .arena = (*arenas)[rank],
                   .memory = memory,
                   .peer_memory_owner = arenas,
                   .lifeline = {},
                   .peer_lifelines = {}};
  }
  return hosts;
}

}  // namespace lockstep::shm
