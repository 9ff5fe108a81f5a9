#include "train/prefetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>

namespace lockstep {
namespace {

using ::testing::ThrowsMessage;

/// What a test waits for: that so many have arrived.
class Count {
 public:
  void add() {
    {
      const std::lock_guard lock(mutex_);
      ++count_;
    }
    changed_.notify_all();
  }
  void wait_for(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

TEST(Prefetch, HandsOutInOrderWhateverIsFinishedFirst) {
  for (int workers : {2, 3, 5}) {
    Count odd;
    Prefetch<std::int64_t> prefetch(
        [&odd](std::int64_t number) {
          if (number % 2 == 0) {
            odd.wait_for(static_cast<int>(number / 2 + 1));  // finished after the number that follows
          } else {
            odd.add();
          }
          return number * 10;
        },
        {.first = 0, .end = 100, .workers = workers, .ahead = 7});
    for (std::int64_t number = 0; number < 100; ++number) EXPECT_EQ(prefetch.take(), number * 10);
  }
}

TEST(Prefetch, BeginsWhereItIsTold) {
  Prefetch<std::int64_t> prefetch([](std::int64_t number) { return number; }, {.first = 5, .end = 8});
  for (std::int64_t number = 5; number < 8; ++number) EXPECT_EQ(prefetch.take(), number);
}

TEST(Prefetch, WorksAheadButNoFurtherThanAllowed) {
  std::atomic<std::int64_t> taken = 0;
  std::atomic<bool> too_far = false;
  Count made;
  Prefetch<std::int64_t> prefetch(
      [&](std::int64_t number) {
        // What is being taken counts as taken a moment before `taken` says so.
        if (number > taken + 3) too_far = true;
        made.add();
        return number;
      },
      {.first = 0, .end = 1000, .workers = 2, .ahead = 3});
  made.wait_for(3);  // nothing was asked for
  for (int i = 0; i < 1000; ++i) {
    prefetch.take();
    ++taken;
  }
  EXPECT_FALSE(too_far);
}

TEST(Prefetch, ThrowsWhereTheThingWouldHaveCome) {
  Prefetch<std::int64_t> prefetch(
      [](std::int64_t number) {
        if (number == 2) throw std::out_of_range("no 2");
        return number;
      },
      {.first = 0, .end = 5, .workers = 2, .ahead = 4});
  EXPECT_EQ(prefetch.take(), 0);
  EXPECT_EQ(prefetch.take(), 1);
  EXPECT_THAT([&] { prefetch.take(); }, ThrowsMessage<std::out_of_range>("no 2"));
  EXPECT_EQ(prefetch.take(), 3);
}

TEST(Prefetch, LeavesNoThreadAndNothingMade) {
  const auto thing = std::make_shared<int>(7);
  std::atomic<int> running = 0;
  for (int takes : {0, 1, 2, 6}) {
    Count begun;
    {
      Prefetch<std::shared_ptr<int>> prefetch(
          [&](std::int64_t) {
            ++running;
            begun.add();
            std::this_thread::yield();
            --running;
            return thing;
          },
          {.first = 0, .end = 6, .workers = 3, .ahead = 4});
      begun.wait_for(1);
      for (int i = 0; i < takes; ++i) prefetch.take();
    }
    EXPECT_EQ(running, 0);
    EXPECT_EQ(thing.use_count(), 1);
  }
}

TEST(Prefetch, OfNothingEnds) {
  Prefetch<int> prefetch([](std::int64_t) { return 1; }, {.first = 3, .end = 3});
}

}  // namespace
}  // namespace lockstep
