#include "bench/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace lockstep::bench {

using testing::ElementsAre;

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
