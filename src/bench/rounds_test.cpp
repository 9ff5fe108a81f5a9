#include "bench/rounds.h"

#include "base/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace lockstep::bench {

using testing::ElementsAre;

namespace {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Its operations take some time, and know how long.
class Sleeper final : public Subject {
 public:
  void barrier() override {}
  void run(const Buffer&) override {
    const auto start = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    slept_s.push_back(seconds_since(start));
  }
  std::vector<double> slept_s;
};

class NoOperands final : public Operands {
 public:
  void prepare(std::size_t) override {}
  Buffer next() override { return {}; }
};

}  // namespace

TEST(Rounds, SecondsAreThoseOfOneOperationAndTheFirstBatchIsNotCounted) {
  constexpr std::size_t kBatch = 5;
  Sleeper sleeper;
  NoOperands operands;
  std::vector<double> seconds;
  const auto start = Clock::now();
  EXPECT_EQ(run_round(sleeper, operands, {.iterations = 2, .batch = kBatch}, seconds), 3U) << "all that took time";
  const double taken_s = seconds_since(start);
  ASSERT_EQ(seconds.size(), 2U);
  ASSERT_EQ(sleeper.slept_s.size(), 3 * kBatch);
  const double counted_s = std::accumulate(sleeper.slept_s.begin() + kBatch, sleeper.slept_s.end(), 0.0);
  EXPECT_GE((seconds[0] + seconds[1]) * kBatch, counted_s);
  EXPECT_LE((seconds[0] + seconds[1]) * kBatch, taken_s);
  EXPECT_EQ(run_round(sleeper, operands, {.iterations = 3, .batch = 1}, seconds), 3U);
  EXPECT_EQ(seconds.size(), 5U);
  EXPECT_EQ(sleeper.slept_s.size(), 3 * kBatch + 3) << "what is no batch is counted from the first on";
}

TEST(Rounds, ABatchIsNotLongerThanTheBuffersLast) { EXPECT_EQ(choose_batch(1e-9, {.slots = 2, .uses = 3}), 6U); }

TEST(Rounds, WhatIsSlowerHasTheBatchOfTheFastestUnlessItIsLong) {
  EXPECT_EQ(batch_beside(100, 100, 1e-6), 100U);
  EXPECT_EQ(batch_beside(100, 4, 50e-6), 100U);
  EXPECT_EQ(batch_beside(100, 3, 83e-6), 60U) << "5 ms";
  EXPECT_EQ(batch_beside(100, 1, 8e-3), 1U);
  EXPECT_EQ(batch_beside(6, 2, 177e-6), 6U);
}

TEST(Rounds, EachBeginsWithAnotherAndEverySecondGoesBackwards) {
  EXPECT_THAT(order_of_round(0, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(order_of_round(1, 4), ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(order_of_round(2, 4), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(order_of_round(7, 4), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(order_of_round(5, 1), ElementsAre(0));
}

/// An operation of 20 us, and a barrier that adds 20 to a batch.
TEST(Rounds, WhatTheBarrierAddsDoesNotHalveTheBatch) {
  const Layout layout{.uses = 100};
  const auto seconds_in = [](std::size_t batch) { return 20e-6 + 20e-6 / static_cast<double>(batch); };
  EXPECT_EQ(choose_batch(seconds_in(1), layout), 5U);
  EXPECT_EQ(find_batch(layout, seconds_in), 9U);
}

TEST(Rounds, NobodyAlwaysFollowsTheSame) {
  std::map<std::size_t, std::set<std::size_t>> before;
  for (std::size_t round = 0; round < 5; ++round) {
    const std::vector<std::size_t> order = order_of_round(round, 5);
    for (std::size_t turn = 1; turn < order.size(); ++turn) before[order[turn]].insert(order[turn - 1]);
  }
  for (const auto& [subject, those] : before) EXPECT_GE(those.size(), 2U) << subject;
}

}  // namespace lockstep::bench
