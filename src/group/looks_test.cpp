// Who computes and only asks now and then how far its operations are does not stay awake for its peers: that would give
// its core to whoever else computes, for milliseconds each time. Counted by the calls that give a core away.
#include <lockstep/world.h>

#include "tests/conformance/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

thread_local int yields = 0;  ///< of this thread

}  // namespace

/// The program's own goes before the system library's.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace lockstep {

using testing_support::run_ranks;

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Start = std::function<Pending(World&, std::vector<float>&)>;

/// Several looks around fit into it.
constexpr milliseconds kLooksFor{150};
constexpr std::chrono::seconds kLongest{20};

void wait_for(const std::atomic<bool>& flag) {
  const auto end = steady_clock::now() + kLongest;
  while (!flag && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(1));
}

/// How often a rank gives its core away that asks for something again and again which does not come.
int yields_while_looking(World& world, Pending& pending) {
  const int before = yields;
  const auto end = steady_clock::now() + kLooksFor;
  while (steady_clock::now() < end) {
    EXPECT_FALSE(world.progress());
    EXPECT_FALSE(pending.done());
  }
  return yields - before;
}

/// Rank 0 starts something that takes rank 1, looks for it in vain, and gets it in the end.
void expect_awake_for_nobody(std::size_t count, const Start& start) {
  std::atomic<bool> looked = false;
  run_ranks(2, [&](World& world) {
    std::vector<float> values(count, 1.0F);
    if (world.rank() == 1) wait_for(looked);
    Pending pending = start(world, values);
    if (world.rank() == 0) {
      EXPECT_EQ(yields_while_looking(world, pending), 0);
      looked = true;
    }
    pending.wait();
  });
}

/// What rank 0 is told, which never waits, of a rank 1 that leaves instead of coming; and how often it gave its core
/// away until then.
void expect_departure_seen(std::size_t count, const Start& start) {
  run_ranks(2, [&](World& world) {
    if (world.rank() == 1) return;
    std::vector<float> values(count, 1.0F);
    const int before = yields;
    const auto end = steady_clock::now() + kLongest;
    std::string told = "nothing";
    try {
      Pending pending = start(world, values);
      while (steady_clock::now() < end && !pending.done()) std::this_thread::sleep_for(milliseconds(1));
    } catch (const Error& error) {
      told = error.what();
    }
    EXPECT_THAT(told, testing::HasSubstr("rank 1 has left the group"));
    EXPECT_EQ(yields - before, 0);
  });
}

Pending sum(World& world, std::vector<float>& values) { return world.all_reduce(buffer_of(values)); }

Pending receive_or_send(World& world, std::vector<float>& values) {
  return world.rank() == 0 ? world.receive(buffer_of(values), 1) : world.send(buffer_of(values), 0);
}

constexpr std::size_t kSmall = 10;  ///< fits into a letter
constexpr std::size_t kLarge = 50'000;

}  // namespace

TEST(Looks, AreCounted) {
  const int before = yields;
  std::this_thread::yield();
  EXPECT_EQ(yields - before, 1);
}

TEST(Looks, AtASmallOperationGiveNoCoreAway) { expect_awake_for_nobody(kSmall, sum); }
TEST(Looks, AtALargeOperationGiveNoCoreAway) { expect_awake_for_nobody(kLarge, sum); }
TEST(Looks, AtAMessageGiveNoCoreAway) { expect_awake_for_nobody(kSmall, receive_or_send); }

TEST(Looks, AtASmallOperationSeeThatAPeerLeft) { expect_departure_seen(kSmall, sum); }
TEST(Looks, AtALargeOperationSeeThatAPeerLeft) { expect_departure_seen(kLarge, sum); }
TEST(Looks, AtAMessageSeeThatAPeerLeft) { expect_departure_seen(kSmall, receive_or_send); }

}  // namespace lockstep
