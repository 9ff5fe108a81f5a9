// A rank for the tests: joins its world, does what its first argument says, and prints what came of it.
#include "base/clock.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/comm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

using lockstep::buffer_of;
using lockstep::World;

/// Sums in registered and in plain memory, and says what it got.
void sum(World& world) {
  const lockstep::RegisteredMemory memory = world.allocate(1000 * sizeof(float));
  auto* registered = static_cast<float*>(memory.data());
  std::vector<float> plain(1000);
  for (int round = 1; round <= 50; ++round) {
    for (std::size_t i = 0; i < plain.size(); ++i) registered[i] = plain[i] = static_cast<float>(world.rank() + round);
    world.all_reduce(buffer_of(registered, 1000)).wait();
    world.all_reduce(buffer_of(plain)).wait();
  }
  fmt::print("rank {} of {}: {} {}\n", world.rank(), world.size(), registered[999], plain[0]);
}

/// The last rank is killed before the third operation; the others are in it, or on their way.
void die(World& world) {
  std::vector<float> values(1 << 16, 1.0F);
  for (int i = 1;; ++i) {
    if (i == 3 && world.rank() == world.size() - 1) {
      fmt::print("died {}\n", lockstep::now_us());
      std::fflush(stdout);
      std::raise(SIGKILL);
    }
    world.all_reduce(buffer_of(values), lockstep::ReduceOp::kMax, {.purpose = "gradients of layer1"}).wait();
  }
}

/// The last rank is stopped, not killed, before the third operation.
void freeze(World& world) {
  std::vector<float> values(1 << 16, 1.0F);
  for (int i = 1;; ++i) {
    if (i == 3 && world.rank() == world.size() - 1) std::raise(SIGSTOP);
    world.all_reduce(buffer_of(values), lockstep::ReduceOp::kMax, {.timeout = std::chrono::milliseconds(500)}).wait();
  }
}

/// The last rank is stopped, and does what the others do once it is continued.
void pause_then_sum(World& world) {
  if (world.rank() == world.size() - 1) {
    fmt::print("paused\n");
    std::fflush(stdout);
    std::raise(SIGSTOP);
  }
  sum(world);
}

/// The last rank ends without a word to its group, as a crash in a library's exit() would.
void vanish(World& world) {
  if (world.rank() == world.size() - 1) std::_Exit(7);
  world.barrier().wait();
}

/// The last rank forks a child, which returns from main as its parent will, and gives back its copy of what both hold.
void fork_a_child(World& world) {
  constexpr std::size_t kCount = 1000;
  const lockstep::RegisteredMemory memory = world.allocate(kCount * sizeof(float));
  auto* const values = static_cast<float*>(memory.data());
  std::fill_n(values, kCount, 1.0F);
  if (world.rank() == world.size() - 1) {
    const pid_t child = ::fork();
    if (child == 0) return;
    ::waitpid(child, nullptr, 0);
  }
  world.all_reduce(buffer_of(values, kCount)).wait();
  fmt::print("registered: {}\n", values[kCount - 1]);
  sum(world);
}

/// The first rank wants what the others have, and they what it has: all wait, and nobody sends.
void cross(World& world) {
  std::vector<float> values(static_cast<std::size_t>(world.size()));
  if (world.rank() == 0) {
    world.gather(buffer_of(values), 0).wait();
  } else {
    world.broadcast(buffer_of(values), 0).wait();
  }
}

/// Ranks bring different sizes.
void disagree(World& world) {
  std::vector<float> values(static_cast<std::size_t>(10 + world.rank()));
  world.all_reduce(buffer_of(values)).wait();
}

/// Says where all are and what that makes of an all_reduce, and does one.
void hosts(World& world) {
  std::vector<float> values(100, 1.0F);
  world.all_reduce(buffer_of(values), lockstep::ReduceOp::kSum, {.algorithm = "hierarchical:direct,ring"}).wait();
  fmt::print("rank {} of hosts {}: {} by {}\n", world.rank(), fmt::join(world.hosts(), " "), values[99],
             world.algorithm_for(lockstep::Collective::kAllReduce, 4));
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(World&)> acts{
      {"sum", sum},     {"die", die},           {"freeze", freeze},        {"vanish", vanish}, {"disagree", disagree},
      {"hosts", hosts}, {"fork", fork_a_child}, {"pause", pause_then_sum}, {"cross", cross}};
  try {
    World world = World::from_env();
    acts.at(argc > 1 ? argv[1] : "")(world);
    return 0;
  } catch (const lockstep::Error& error) {
    fmt::print("noticed {} peer {} code {}: {}\n", lockstep::now_us(), error.peer(), static_cast<int>(error.code()),
               error.what());
    return 3;
  }
}
