// Collectives on their own, without libtorch: memory that ranks share, operations under way while others are asked for,
// groups side by side and messages. docs/guide/collectives.md explains it. `lockstep run -n 4 collectives`
#include <lockstep/comm.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

namespace {

/// What everybody's number is in the mean, and the sum of a million of them by the algorithm that is taken for so many.
void sum(const lockstep::World& world) {
  constexpr std::size_t kCount = std::size_t{1} << 20;
  const lockstep::RegisteredMemory memory = world.allocate(kCount * sizeof(float));
  auto* const many = static_cast<float*>(memory.data());
  std::fill_n(many, kCount, static_cast<float>(world.rank()));
  std::vector<double> own{static_cast<double>(world.rank())};

  const auto record = std::make_shared<lockstep::OperationRecord>();
  lockstep::Pending sum_of_many = world.all_reduce(lockstep::buffer_of(many, kCount), lockstep::ReduceOp::kSum,
                                                   {.purpose = "the sum of many", .record = record});
  lockstep::Pending mean = world.all_reduce(lockstep::buffer_of(own), lockstep::ReduceOp::kMean);
  // Here a program computes; what it then needs it waits for.
  mean.wait();
  sum_of_many.wait();
  std::printf("rank %d of %d: mean %.1f, sum %.0f by %s\n", world.rank(), world.size(), own[0], many[kCount - 1],
              record->algorithm.c_str());
}

/// Even and odd ranks are groups of their own, whose operations run side by side.
void gather_in_halves(const lockstep::World& world) {
  const lockstep::Group half = world.split(world.rank() % 2);
  std::vector<int> ranks(static_cast<std::size_t>(half.size()));  // a block for each rank
  ranks[static_cast<std::size_t>(half.rank())] = world.rank();
  half.all_gather(lockstep::buffer_of(ranks)).wait();
  std::printf("rank %d: with rank %d to %d\n", world.rank(), ranks.front(), ranks.back());
}

/// Each tells the next. Both messages are begun before either is waited for: else all would wait to send.
void tell_the_next(const lockstep::World& world) {
  if (world.size() == 1) return;  // there is nobody to tell
  std::vector<int> told{world.rank()};
  std::vector<int> heard{-1};
  const int next = (world.rank() + 1) % world.size();
  const int last = (world.rank() + world.size() - 1) % world.size();
  lockstep::Pending send = world.send(lockstep::buffer_of(told), next);
  lockstep::Pending receive = world.receive(lockstep::buffer_of(heard), last);
  send.wait();
  receive.wait();
  std::printf("rank %d: heard from rank %d\n", world.rank(), heard[0]);
}

}  // namespace

int main() try {
  const auto world = lockstep::World::from_env();
  sum(world);
  gather_in_halves(world);
  tell_the_next(world);
  world.barrier().wait();                // who leaves while another still waits for it is an error there
} catch (const std::exception& error) {  // a lockstep::Error says in a sentence which rank failed, and at what
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
