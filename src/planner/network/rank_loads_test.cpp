#include "planner/network/rank_loads.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

/// Each rank sends its number of messages of 10 bytes, and receives one.
Loads rising(int ranks) {
  return loads_of(ranks, {2, 1, 20},
                  [](int rank) { return reducing({.sent = of_messages(rank, 10), .received = of_messages(1, 10)}); });
}

}  // namespace

TEST(RankLoads, TheBusiestIsTheLowestThatHasTheMost) {
  const Busiest busiest = busiest_of(rising(4), 4);
  EXPECT_EQ(busiest.rank, 3);
  EXPECT_EQ(busiest.sent_bytes, 30);
  EXPECT_EQ(busiest.received_bytes, 10);
  EXPECT_EQ(busiest.link.from, 2);
  const Loads alike = loads_of(4, {0, 1, 5}, [](int) { return both_ways(of_messages(2, 5)); });
  EXPECT_EQ(busiest_of(alike, 4).rank, 0);
}

TEST(RankLoads, OneRankAloneHasNone) {
  EXPECT_EQ(rising(1).of_rank(0).received.messages, 0);
  EXPECT_EQ(busiest_of(rising(1), 1).link.from, 0);
}

TEST(RankLoads, NoBytesMakeNoLinkBusy) {
  const Loads empty = loads_of(2, {1, 0, 0}, [](int) { return both_ways(of_messages(3, 0)); });
  EXPECT_EQ(busiest_of(empty, 2).link.from, 0);
}

TEST(RankLoads, ARootMovesThemOn) {
  const Loads loads = rooted_at(3, 4, rising(4));
  EXPECT_EQ(loads.of_rank(3).sent.messages, 0) << "the root";
  EXPECT_EQ(loads.of_rank(0).sent.messages, 1);
  EXPECT_EQ(loads.busiest_link.from, 1);
  EXPECT_EQ(loads.busiest_link.to, 0);
  EXPECT_EQ(loads.busiest_link.bytes, 20);
}

TEST(RankLoads, AddUpAndTurnRound) {
  const RankLoad sum = rising(4).of_rank(2) + reversed(rising(4).of_rank(2));
  EXPECT_EQ(sum.sent.messages, 3);
  EXPECT_EQ(sum.received.bytes, 30);
  EXPECT_EQ(sum.reduced_bytes, 10) << "what was received first";
  EXPECT_DOUBLE_EQ(sum.sent.seconds({.alpha_s = 2, .beta_s = 0.5, .gamma_s = 9}), 3 * 2 + 30 * 0.5);
}

}  // namespace lockstep
