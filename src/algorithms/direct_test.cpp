#include "algorithms/catalog.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Direct, TakesTwoStepsWhateverTheRanks) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Schedule schedule = find_algorithm("direct").build({.ranks = ranks});
    ASSERT_EQ(schedule.steps.size(), 2U);
    EXPECT_EQ(schedule.chunks, ranks);
    for (const Step& step : schedule.steps) EXPECT_EQ(step.size(), static_cast<std::size_t>(ranks) * (ranks - 1));
  }
}

TEST(Direct, SumsEachChunkAtItsOwnerInOrderOfTheRanks) {
  const Schedule schedule = find_algorithm("direct").build({.collective = Collective::kReduceScatter, .ranks = 3});
  ASSERT_EQ(schedule.steps.size(), 1U);
  EXPECT_EQ(schedule.steps[0], (Step{{TransferKind::kReduce, 0, 1, 0},
                                     {TransferKind::kReduce, 0, 2, 0},
                                     {TransferKind::kReduce, 1, 0, 1},
                                     {TransferKind::kReduce, 1, 2, 1},
                                     {TransferKind::kReduce, 2, 0, 2},
                                     {TransferKind::kReduce, 2, 1, 2}}));
}

TEST(Direct, ABroadcastSendsNothingBackToItsRoot) {
  const Schedule schedule =
      find_algorithm("direct").build({.collective = Collective::kBroadcast, .ranks = 4, .root = 2});
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) EXPECT_NE(transfer.to, 2);
  }
}

TEST(Direct, AReduceEndsAtItsRoot) {
  const Schedule schedule = find_algorithm("direct").build({.collective = Collective::kReduce, .ranks = 4, .root = 2});
  ASSERT_EQ(schedule.steps.size(), 2U);
  EXPECT_EQ(schedule.steps[1].size(), 3U);
  for (const Transfer& transfer : schedule.steps[1]) EXPECT_EQ(transfer.to, 2);
}

}  // namespace lockstep
