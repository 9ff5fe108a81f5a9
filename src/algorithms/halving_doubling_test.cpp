#include "algorithms/shape_for_tests.h"
#include "schedule/proof.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(HalvingDoubling, OfAPowerOfTwoIsOptimalInStepsAndBytes) {
  for (const int ranks : {2, 4, 8, 16, 32}) {
    const Schedule schedule = shape::build("halving_doubling", ranks);
    EXPECT_EQ(schedule.steps.size(), 2 * shape::ceil_log2(ranks));
    EXPECT_EQ(schedule.chunks, ranks);
    for (const int chunks : shape::sent(schedule)) EXPECT_EQ(chunks, 2 * (ranks - 1));
    EXPECT_EQ(shape::most_peers_in_a_step(schedule), 1);
    EXPECT_TRUE(prove(schedule).canonical);
  }
}

TEST(HalvingDoubling, TheAmountHalvesThenDoubles) {
  const Schedule schedule = shape::build("halving_doubling", 8);
  const std::size_t each[] = {4, 2, 1, 1, 2, 4};
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) EXPECT_EQ(schedule.steps[i].size(), 8 * each[i]);
}

TEST(HalvingDoubling, RanksBeyondAPowerOfTwoHandInAndAreHandedTheBuffer) {
  const Schedule schedule = shape::build("halving_doubling", 6);
  EXPECT_EQ(schedule.chunks, 4);
  EXPECT_EQ(schedule.steps.size(), 2U * 2U + 2U);
  for (const Transfer& transfer : schedule.steps.front()) {
    EXPECT_EQ(transfer.from, transfer.to + 1);
    EXPECT_TRUE(transfer.to == 0 || transfer.to == 2);
  }
  EXPECT_EQ(schedule.steps.front().size(), 8U);
  EXPECT_EQ(schedule.steps.back().size(), 8U);
}

}  // namespace lockstep
