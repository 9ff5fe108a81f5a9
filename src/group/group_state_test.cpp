// The thread that moves operations in the background, over sockets that the test makes ready; and what is kept of
// operations.
#include "group/group_state.h"

#include "base/child_for_tests.h"
#include "base/limit_for_tests.h"
#include "group/engine_for_tests.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What one operation waits for.
struct Gate {
  FileDescriptor socket{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> open = false;
  std::atomic<bool> passed = false;  ///< the operation is complete
  std::atomic<int> looks = 0;        ///< at the socket, before somebody sleeps on it
  std::atomic<bool> holds = false;   ///< whoever moves the operation
  std::atomic<bool> held = false;    ///< somebody

  void ring() const { ASSERT_EQ(::eventfd_write(socket.get(), 1), 0); }
};

class GatedOperation final : public RunningOperation {
 public:
  GatedOperation(const Announcement& announcement, Gate& gate) : RunningOperation(announcement), gate_(gate) {}
  void wait_for_peer_until(Time /*at_most*/) override {}
  std::size_t bytes_kept() const override { return sizeof *this; }
  void add_awaited_sockets(std::vector<pollfd>& sockets) override {
    sockets.push_back({gate_.socket.get(), POLLIN, 0});
    ++gate_.looks;
  }

 protected:
  void enter() override {}
  bool go_on() override {
    while (gate_.holds) {
      gate_.held = true;
      std::this_thread::sleep_for(milliseconds(1));
    }
    if (gate_.open) gate_.passed = true;
    return gate_.open;
  }

 private:
  Gate& gate_;
};

/// Of two ranks, of which there is one: its first operation waits at the first gate, the next one at the second.
class GatedEngine final : public WrappedEngine {
 public:
  explicit GatedEngine(std::array<Gate, 2>& gates) : WrappedEngine(make_lone_engine()), gates_(gates) {}
  int size() const override { return 2; }
  Medium medium() const override { return Medium::kTcp; }
  std::unique_ptr<RunningOperation> prepare(Shape shape) override {
    return std::make_unique<GatedOperation>(shape.announcement, gates_.at(prepared_++));
  }

 private:
  std::array<Gate, 2>& gates_;
  std::size_t prepared_ = 0;
};

template <class Condition>
bool becomes_true(const Condition& condition) {
  const auto until = std::chrono::steady_clock::now() + seconds(20);
  while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
  return condition();
}

/// Two sums are under way, and the thread sleeps on the first one's socket.
class SleepingThread : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Task task{.collective = Collective::kAllReduce, .buffer = buffer_of(values_.data(), i + 1)};
      sums_[i] = state_->start(task, {.algorithm = "direct", .in_background = true});
    }
    // Once for the start, and then by the thread, which either start woke; it sleeps soon after.
    ASSERT_TRUE(becomes_true([&] { return gates_[0].looks >= 2; }));
    std::this_thread::sleep_for(milliseconds(50));
  }
  void TearDown() override {
    for (Gate& gate : gates_) {  // nobody waits for what is under way after a failure
      gate.open = true;
      gate.holds = false;
    }
  }

  /// Whether the thread takes the second operation through its gate, by the socket alone.
  bool thread_completes_the_second() {
    gates_[1].open = true;
    gates_[1].ring();
    return becomes_true([&] { return gates_[1].passed.load(); });
  }

  std::array<Gate, 2> gates_;
  std::array<float, 2> values_{};
  std::shared_ptr<GroupState> state_ =
      std::make_shared<GroupState>(Identity{.rank = 0, .size = 2}, std::make_unique<GatedEngine>(gates_));
  std::array<Pending, 2> sums_;
};

TEST_F(SleepingThread, MovesOnBySocketsAlone) {
  gates_[0].open = true;
  gates_[0].ring();
  EXPECT_TRUE(thread_completes_the_second());
}

TEST_F(SleepingThread, KnowsWhatIsAwaitedOnceACallerHasAskedAboutTheOperationBefore) {
  gates_[0].open = true;
  EXPECT_TRUE(sums_[0].done());
  EXPECT_TRUE(thread_completes_the_second());
}

TEST_F(SleepingThread, KnowsWhatIsAwaitedOnceACallerHasWaitedForTheOperationBefore) {
  gates_[0].open = true;
  sums_[0].wait();
  EXPECT_TRUE(thread_completes_the_second());
}

TEST_F(SleepingThread, KnowsWhatIsAwaitedOnceACallerHasMovedAll) {
  gates_[0].open = true;
  EXPECT_FALSE(state_->progress());
  EXPECT_TRUE(thread_completes_the_second());
}

TEST_F(SleepingThread, HoldsUpNoForkedChildThatDropsAPending) {
  if (!testing_support::kForksBesideThreads) GTEST_SKIP() << testing_support::kWhyNotForked;
  gates_[0].holds = true;
  gates_[0].ring();
  ASSERT_TRUE(becomes_true([&] { return gates_[0].held.load(); }));
  // The thread is in the group now, and in the child it never comes out.
  EXPECT_EQ(testing_support::said_in_child([&] {
              sums_ = {};
              state_.reset();
              return "dropped";
            }),
            "dropped");
}

TEST(GroupState, DoesWithoutAThreadThatTheSystemDoesNotGive) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  std::array<Gate, 2> gates;
  std::array<float, 2> values{};
  const auto state = std::make_shared<GroupState>(Identity{.rank = 0, .size = 2}, std::make_unique<GatedEngine>(gates));
  const auto start = [&](std::size_t count) {
    return state->start({.collective = Collective::kAllReduce, .buffer = buffer_of(values.data(), count)},
                        {.algorithm = "direct", .in_background = true});
  };
  Pending first;
  {
    const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
    ASSERT_NO_THROW(first = start(1));
  }
  Pending second = start(2);
  EXPECT_EQ(gates[0].looks, 1) << "it tried again";
  EXPECT_FALSE(first.done());
  for (Gate& gate : gates) gate.open = true;
  second.wait();
  EXPECT_TRUE(first.done());
}

/// Operations that are there now, and how many have run.
struct Made {
  int alive = 0;
  int most_alive = 0;
  int completed = 0;
};

/// Complete when it is moved for the second time, by the start of the next one.
class CountedOperation final : public RunningOperation {
 public:
  CountedOperation(const Announcement& announcement, Made& made) : RunningOperation(announcement), made_(made) {
    made_.most_alive = std::max(made_.most_alive, ++made_.alive);
  }
  ~CountedOperation() override { --made_.alive; }
  void wait_for_peer_until(Time /*at_most*/) override {}
  std::size_t bytes_kept() const override { return sizeof *this; }

 private:
  void enter() override { has_come_ = false; }
  bool go_on() override {
    if (!std::exchange(has_come_, true)) return false;
    ++made_.completed;
    return true;
  }

  Made& made_;
  bool has_come_ = false;
};

class CountingEngine final : public WrappedEngine {
 public:
  explicit CountingEngine(Made& made) : WrappedEngine(make_lone_engine()), made_(made) {}
  int size() const override { return 2; }
  std::unique_ptr<RunningOperation> prepare(Shape shape) override {
    return std::make_unique<CountedOperation>(shape.announcement, made_);
  }

 private:
  Made& made_;
};

/// Ever new counts, each begun before the one before is complete.
TEST(GroupState, KeepsFewOperationsWhereOneIsAlwaysUnderWay) {
  constexpr std::size_t kCounts = 10'000;
  Made made;
  std::vector<float> values(kCounts);
  const auto state =
      std::make_shared<GroupState>(Identity{.rank = 0, .size = 2}, std::make_unique<CountingEngine>(made));
  Pending last;
  for (std::size_t count = 1; count <= kCounts; ++count) {
    last = state->start({.collective = Collective::kAllReduce, .buffer = buffer_of(values.data(), count)},
                        {.algorithm = "direct"});
    ASSERT_EQ(made.completed, static_cast<int>(count) - 1);
  }
  EXPECT_GT(made.most_alive, static_cast<int>(PreparedOperations::kMostKept) / 2);
  EXPECT_LE(made.most_alive, static_cast<int>(PreparedOperations::kMostKept) + 2) << "one more is under way, one new";
  last.wait();
}

}  // namespace
}  // namespace lockstep::detail
