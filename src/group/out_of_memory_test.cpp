// Memory that runs out in the middle of an operation. Whoever asked for it is told and has its buffer back, to which
// nothing is written any more; its peers are told too, and the group is as good as left. One allocation after the
// other fails, by an operator new of this program's own, and one call of the transport after the other.
#include "group/fuse_for_tests.h"
#include "group/group_state.h"
#include "group/thread_world.h"
#include "transport/shm/arena.h"
#include "transport/shm/thread_host.h"
#include "transport/tcp/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// Of this thread, which of its next allocations fails; none if negative.
thread_local int allocations_left = -1;
thread_local bool memory_stays_out = false;
thread_local bool memory_ran_out = false;

void* allocated_or_null(std::size_t bytes) noexcept {
  if (allocations_left == 0) {
    memory_ran_out = true;
    if (!memory_stays_out) allocations_left = -1;
    return nullptr;
  }
  if (allocations_left > 0) --allocations_left;
  return std::malloc(bytes);
}

void* allocated(std::size_t bytes) {
  void* const memory = allocated_or_null(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

/// The program's own go before the library's.
void* operator new(std::size_t bytes) { return allocated(bytes); }
void* operator new[](std::size_t bytes) { return allocated(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocated_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocated_or_null(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace lockstep::detail {
namespace {

using Engines = std::array<std::unique_ptr<Engine>, 2>;
/// What either rank does with memory of its own, where each float is 1 on rank 0 and 2 on rank 1.
struct Work {
  Pending (*start)(World& world, Buffer buffer);
  float result;  ///< what rank 0's are then
};

constexpr const char* kLongPurpose = "a purpose that is longer than a string holds without allocating";
/// Of whom nobody should wait for the other's.
const OperationOptions kPatientAndNamed{.purpose = kLongPurpose, .timeout = std::chrono::seconds(20)};
const OperationOptions kPatientAlongARing{
    .algorithm = "ring", .purpose = kLongPurpose, .timeout = std::chrono::seconds(20)};
constexpr const char* kToldOfMemory = "rank 0 ran out of memory";
constexpr std::size_t kFew = 10;  ///< fits into a letter
constexpr std::size_t kMany = std::size_t{200} << 10;

Pending sum_up(World& world, Buffer buffer) { return world.all_reduce(buffer, ReduceOp::kSum, kPatientAndNamed); }
Pending sum_up_along_a_ring(World& world, Buffer buffer) {
  return world.all_reduce(buffer, ReduceOp::kSum, kPatientAlongARing);
}
Pending sum_up_in_background(World& world, Buffer buffer) {
  OperationOptions options = kPatientAndNamed;
  options.in_background = true;
  return world.all_reduce(buffer, ReduceOp::kSum, options);
}
Pending receive_from_one(World& world, Buffer buffer) {
  return world.rank() == 0 ? world.receive(buffer, 1, kPatientAndNamed) : world.send(buffer, 0, kPatientAndNamed);
}
Pending send_to_one(World& world, Buffer buffer) {
  return world.rank() == 0 ? world.send(buffer, 1, kPatientAndNamed) : world.receive(buffer, 0, kPatientAndNamed);
}

constexpr Work kSum{sum_up, 3};
constexpr Work kSumAlongARing{sum_up_along_a_ring, 3};
constexpr Work kSumInBackground{sum_up_in_background, 3};
constexpr Work kReceive{receive_from_one, 2};
constexpr Work kSend{send_to_one, 1};

Engines engines_over_sockets(Fuse& fuse) {
  auto hosts = tcp::thread_hosts(2);
  return {make_engine(std::make_unique<FusedTransport>(tcp::create(std::move(hosts[0])), fuse)),
          make_engine(tcp::create(std::move(hosts[1])))};
}

Engines engines_over_memory(Fuse& fuse) {
  auto hosts = shm::thread_hosts(2);
  return {std::make_unique<FusedEngine>(make_engine(shm::create(std::move(hosts[0]))), fuse),
          make_engine(shm::create(std::move(hosts[1])))};
}

World world_of(std::unique_ptr<Engine> engine) {
  const Identity identity{.rank = engine->rank(), .size = engine->size(), .job = {}};
  return WorldMaker::make(std::make_shared<GroupState>(identity, std::move(engine)));
}

/// What `call` throws; empty if nothing.
std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    allocations_left = -1;  // who is told has memory for it
    return error.what();
  }
  return "";
}

void expect_every_call_to_throw(World& world) {
  float value = 0;
  EXPECT_NE(thrown_by([&] { world.progress(); }), "");
  EXPECT_NE(thrown_by([&] { world.barrier().wait(); }), "");
  EXPECT_NE(thrown_by([&] { world.send(buffer_of(&value, 1), 1).wait(); }), "");
  EXPECT_NE(thrown_by([&] { world.receive(buffer_of(&value, 1), 1).wait(); }), "");
}

/// Two ranks, of which rank 0 is where this is made.
class TwoRanks {
 public:
  TwoRanks(Engines engines, const Work& work, std::size_t count)
      : work_(work), values_(count, 1), world_(world_of(std::move(engines[0]))) {
    other_ = std::jthread([this, engine = std::move(engines[1])]() mutable {
      World world = world_of(std::move(engine));
      be_rank_one(world);
    });
  }

  World& world() { return world_; }
  Pending start() { return work_.start(world_, buffer_of(values_)); }

  /// Rank 0 has its part, and so has rank 1.
  void complete() {
    world_.barrier(kPatientAndNamed).wait();
    EXPECT_EQ(error_of_rank_one(), "");
    EXPECT_EQ(values_, std::vector<float>(values_.size(), work_.result));
  }
  /// Rank 0 has been thrown out of it.
  void expect_failure(ErrorCode code = ErrorCode::kOutOfMemory, const std::string& told = kToldOfMemory) {
    std::fill(values_.begin(), values_.end(), kMine);  // it has its memory back
    expect_every_call_to_throw(world_);
    EXPECT_THAT(error_of_rank_one(), testing::HasSubstr(told));
    EXPECT_EQ(code_, code);
    expect_every_call_to_throw(world_);
    EXPECT_EQ(values_, std::vector<float>(values_.size(), kMine));
  }
  /// Whether rank 1 has its part, or will never have it.
  bool rank_one_is_past_it() const { return rank_one_is_past_it_; }
  std::string error_of_rank_one() {
    if (other_.joinable()) other_.join();
    return error_;
  }

 private:
  static constexpr float kMine = -7;

  void be_rank_one(World& world) {
    std::vector<float> values(values_.size(), 2);
    try {
      work_.start(world, buffer_of(values)).wait();
      rank_one_is_past_it_ = true;
      world.barrier(kPatientAndNamed).wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.peer(), 0);
      code_ = error.code();
      error_ = error.what();
      rank_one_is_past_it_ = true;
    }
  }

  Work work_;
  std::vector<float> values_;
  World world_;
  std::atomic<bool> rank_one_is_past_it_ = false;
  std::string error_;  ///< rank 1's
  ErrorCode code_{};   ///< and its code
  std::jthread other_;
};

using MakeEngines = Engines (*)(Fuse&);

/// Whether rank 0's work ends though its n-th call of the transport does not.
bool survives_call(int n, MakeEngines make, const Work& work, std::size_t count) {
  Fuse fuse(n);
  TwoRanks ranks(make(fuse), work, count);
  const std::string thrown = thrown_by([&] { ranks.start().wait(); });
  if (!fuse.settle()) {
    EXPECT_EQ(thrown, "");
    ranks.complete();
    return true;
  }
  EXPECT_THAT(thrown, testing::HasSubstr(kToldOfMemory));
  ranks.expect_failure();
  return false;
}

void expect_each_call_to_be_told(MakeEngines make, const Work& work, std::size_t count) {
  constexpr int kEnough = 300;  // of which those behind are waits like those before
  int n = 0;
  while (n < kEnough && !testing::Test::HasFailure() && !survives_call(n, make, work, count)) ++n;
  EXPECT_GT(n, 0);
}

/// How the n-th allocation that rank 0 makes in its work ends.
enum class Ending : std::uint8_t { kWasNone, kMayBeTriedAgain, kGroupFailed };
Ending ending_of_allocation(int n, MakeEngines make, const Work& work, std::size_t count) {
  Fuse none(1 << 30);
  TwoRanks ranks(make(none), work, count);
  memory_ran_out = false;
  allocations_left = n;
  const std::string thrown = thrown_by([&] { ranks.start().wait(); });
  allocations_left = -1;
  if (!memory_ran_out) {
    EXPECT_EQ(thrown, "");
    ranks.complete();
    return Ending::kWasNone;
  }
  if (thrown_by([&] { ranks.world().progress(); }).empty()) {
    // Nothing had begun, or what failed could be done without.
    if (!thrown.empty()) {
      EXPECT_THAT(thrown, testing::HasSubstr("memory")) << "an Error's words, and not those of std::bad_alloc";
      EXPECT_EQ(thrown_by([&] { ranks.start().wait(); }), "");
    }
    ranks.complete();
    return Ending::kMayBeTriedAgain;
  }
  EXPECT_THAT(thrown, testing::HasSubstr(kToldOfMemory));
  ranks.expect_failure();
  return Ending::kGroupFailed;
}

/// Returns how many of them failed the group.
int expect_each_allocation_to_be_told(MakeEngines make, const Work& work, std::size_t count) {
  int failures = 0;
  auto ending = Ending::kMayBeTriedAgain;
  for (int n = 0; ending != Ending::kWasNone && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(n);
    ending = ending_of_allocation(n, make, work, count);
    if (ending == Ending::kGroupFailed) ++failures;
  }
  return failures;
}

TEST(OutOfMemory, InACallOfTheTransportEndsASumOverSockets) {
  expect_each_call_to_be_told(engines_over_sockets, kSum, kFew);
  expect_each_call_to_be_told(engines_over_sockets, kSumAlongARing, kMany);
}

TEST(OutOfMemory, InACallOfTheTransportEndsASumInSharedMemory) {
  expect_each_call_to_be_told(engines_over_memory, kSum, kFew);
  expect_each_call_to_be_told(engines_over_memory, kSumAlongARing, kMany);
}

TEST(OutOfMemory, InACallOfTheTransportEndsAMessage) {
  for (const MakeEngines make : {engines_over_sockets, engines_over_memory}) {
    expect_each_call_to_be_told(make, kReceive, kMany);
    expect_each_call_to_be_told(make, kSend, kMany);
  }
}

TEST(OutOfMemory, InAnAllocationEndsASumOrLeavesItUnbegun) {
  EXPECT_GT(expect_each_allocation_to_be_told(engines_over_sockets, kSum, kFew), 0);
  EXPECT_GT(expect_each_allocation_to_be_told(engines_over_sockets, kSumAlongARing, kMany), 0);
  EXPECT_GT(expect_each_allocation_to_be_told(engines_over_memory, kSum, kFew), 0);
  EXPECT_GT(expect_each_allocation_to_be_told(engines_over_memory, kSumAlongARing, kMany), 0);
}

TEST(OutOfMemory, InAnAllocationLeavesAMessageUnbegun) {
  for (const MakeEngines make : {engines_over_sockets, engines_over_memory}) {
    expect_each_allocation_to_be_told(make, kReceive, kMany);
    expect_each_allocation_to_be_told(make, kSend, kMany);
  }
}

/// Where not even what is to be said of it can be put into words.
TEST(OutOfMemory, RankThreadsOfWhichOneCannotBeStartedEndAtOnce) {
  int failed = 0;
  for (memory_ran_out = true; memory_ran_out; ++failed) {
    memory_ran_out = false;
    allocations_left = failed;
    const auto start = std::chrono::steady_clock::now();
    const std::string thrown = thrown_by([] { run_threads(3, [](World& world) { world.barrier().wait(); }); });
    allocations_left = -1;
    if (!memory_ran_out) {
      EXPECT_EQ(thrown, "");
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << failed;
  }
  EXPECT_GT(failed, 10);
}

TEST(OutOfMemory, AnArenaLosesNothingThatItHas) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const auto arena = shm::Arena::create(kBytes);
  int failed = 0;
  for (memory_ran_out = true; memory_ran_out; ++failed) {
    memory_ran_out = false;
    allocations_left = failed;
    std::shared_ptr<void> held;
    const std::string thrown = thrown_by([&] { held = arena->allocate(4096); });
    allocations_left = -1;
    EXPECT_EQ(thrown.empty(), !memory_ran_out) << failed;
    held.reset();
    EXPECT_NO_THROW((void)arena->allocate(kBytes)) << failed;
  }
  EXPECT_GT(failed, 1);
  auto held = arena->allocate(4096);
  allocations_left = 0;
  held.reset();
  allocations_left = -1;
  EXPECT_NO_THROW((void)arena->allocate(kBytes / 2)) << "but for what could not be noted down";
}

TEST(OutOfMemory, ForGoodIsToldAllTheSame) {
  memory_stays_out = true;
  EXPECT_GT(expect_each_allocation_to_be_told(engines_over_sockets, kSumAlongARing, kMany), 0);
  EXPECT_GT(expect_each_allocation_to_be_told(engines_over_memory, kSumAlongARing, kMany), 0);
  memory_stays_out = false;
}

/// The thread that moves an operation tells the peers, who do not wait for its caller to come back.
TEST(OutOfMemory, InTheBackgroundIsToldBeforeTheCallerComesBack) {
  for (int n = 0; n < 60 && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE(n);
    Fuse fuse(n);
    TwoRanks ranks(engines_over_sockets(fuse), kSumInBackground, kMany);
    Pending sum;
    std::string thrown = thrown_by([&] { sum = ranks.start(); });
    if (thrown.empty()) {
      while (!fuse.is_blown() && !ranks.rank_one_is_past_it()) std::this_thread::yield();
      if (fuse.is_blown()) {
        EXPECT_THAT(ranks.error_of_rank_one(), testing::HasSubstr(kToldOfMemory));
      }
      thrown = thrown_by([&] { sum.wait(); });
      if (!fuse.settle()) return ranks.complete();
    }
    EXPECT_THAT(thrown, testing::HasSubstr(kToldOfMemory));
    ranks.expect_failure();
  }
}

TEST(OutOfMemory, IsNotAllThatEndsAnOperation) {
  for (const MakeEngines make : {engines_over_sockets, engines_over_memory}) {
    for (const Work& work : {kSumAlongARing, kReceive}) {
      Fuse fuse(0, [] { throw std::runtime_error("the disk is on fire"); });
      TwoRanks ranks(make(fuse), work, kMany);
      const std::string told = "rank 0 threw: the disk is on fire.";
      EXPECT_THAT(thrown_by([&] { ranks.start().wait(); }), testing::HasSubstr(told));
      ranks.expect_failure(ErrorCode::kTransport, told);
    }
  }
}

TEST(OutOfMemory, NorNeedItBeAnExceptionOfTheLibrary) {
  for (const MakeEngines make : {engines_over_sockets, engines_over_memory}) {
    for (const Work& work : {kSumAlongARing, kReceive}) {
      Fuse fuse(0, [] { throw 7; });
      TwoRanks ranks(make(fuse), work, kMany);
      EXPECT_THROW(ranks.start().wait(), int);
      ranks.expect_failure(ErrorCode::kPeerLeft, "rank 0 left the group: it threw something that is no std::exception");
    }
  }
}

}  // namespace
}  // namespace lockstep::detail
