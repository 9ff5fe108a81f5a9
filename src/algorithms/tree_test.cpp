#include "algorithms/shape_for_tests.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep {

TEST(Tree, TakesTwiceTheLogarithmForAnyNumberOfRanks) {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    SCOPED_TRACE(ranks);
    EXPECT_EQ(find_algorithm("tree").build({.ranks = ranks}).steps.size(), 2 * shape::ceil_log2(ranks));
    for (const Collective half : {Collective::kReduceScatter, Collective::kAllGather, Collective::kBroadcast}) {
      EXPECT_EQ(find_algorithm("tree").build({.collective = half, .ranks = ranks}).steps.size(),
                shape::ceil_log2(ranks));
    }
  }
}

TEST(Tree, SumsPairsThenPairsOfPairs) {
  const Schedule schedule = find_algorithm("tree").build({.ranks = 4});
  EXPECT_EQ(schedule.steps[0], (Step{{TransferKind::kReduce, 0, 1, 0}, {TransferKind::kReduce, 0, 3, 2}}));
  EXPECT_EQ(schedule.steps[1], (Step{{TransferKind::kReduce, 0, 2, 0}}));
}

TEST(Tree, InReduceScatterEachRankSendsEachOfTheOthersChunksOnce) {
  const Schedule schedule = find_algorithm("tree").build({.collective = Collective::kReduceScatter, .ranks = 7});
  std::map<std::pair<int, int>, int> sent;
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) ++sent[{transfer.from, transfer.chunk}];
  }
  EXPECT_EQ(sent.size(), 7U * 6U);
  for (const auto& [rank_and_chunk, times] : sent) {
    EXPECT_EQ(times, 1);
    EXPECT_NE(rank_and_chunk.first, rank_and_chunk.second);
  }
}

TEST(Tree, GatherAndScatterMoveTheBlocksOfAWholeSubtreeTogether) {
  for (const Collective collective : {Collective::kGather, Collective::kScatter}) {
    const Schedule schedule = shape::build("tree", 8, collective, 3);
    EXPECT_EQ(schedule.steps.size(), 3U);
    EXPECT_EQ(shape::total(schedule), 4 * 1 + 2 * 2 + 4) << "four leaves, two with one below, one with three";
  }
}

}  // namespace lockstep
