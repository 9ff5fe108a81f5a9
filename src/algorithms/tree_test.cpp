#include "algorithms/catalog.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep {

namespace {

std::size_t ceil_log2(int value) {
  std::size_t bits = 0;
  while ((1 << bits) < value) ++bits;
  return bits;
}

}  // namespace

TEST(Tree, TakesTwiceTheLogarithmForAnyNumberOfRanks) {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    SCOPED_TRACE(ranks);
    EXPECT_EQ(find_algorithm("tree").build({.ranks = ranks}).steps.size(), 2 * ceil_log2(ranks));
    for (const Collective half : {Collective::kReduceScatter, Collective::kAllGather, Collective::kBroadcast}) {
      EXPECT_EQ(find_algorithm("tree").build({.collective = half, .ranks = ranks}).steps.size(), ceil_log2(ranks));
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

}  // namespace lockstep
