// Lockstep's all_reduce for bench/compare: registered memory, or plain.
#include "bench/memory.h"
#include "bench/peers/peer.h"

#include <lockstep/comm.h>

#include <iostream>
#include <memory>

namespace {

using namespace lockstep;

class AllReduce final : public bench::Subject {
 public:
  explicit AllReduce(const World& world) : world_(world) {}
  void barrier() override { world_.barrier().wait(); }
  void run(const Buffer& buffer) override { world_.all_reduce(buffer).wait(); }

 private:
  const World& world_;
};

World* world_of_this_process = nullptr;

std::shared_ptr<void> allocate(std::size_t bytes, bool plain) {
  if (plain) return bench::allocate_plain(bytes);
  const auto memory = std::make_shared<RegisteredMemory>(world_of_this_process->allocate(bytes));
  return {memory, memory->data()};
}

}  // namespace

int main() {
  try {
    World world = World::from_env();
    world_of_this_process = &world;
    AllReduce subject(world);
    return compare::serve({world.rank(), world.size(), subject, allocate});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
