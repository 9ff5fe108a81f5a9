#include "algorithms/shape_for_tests.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Pairwise, InEachStepEverybodySendsOneBlockAndIsSentOne) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Schedule schedule = shape::build("pairwise", ranks, Collective::kAllToAll);
    EXPECT_EQ(schedule.steps.size(), static_cast<std::size_t>(ranks - 1));
    EXPECT_EQ(shape::most_peers_in_a_step(schedule), 1);
    for (const int blocks : shape::sent(schedule)) EXPECT_EQ(blocks, ranks - 1);
  }
}

TEST(Pairwise, DirectMovesTheSameInOneStep) {
  const Schedule schedule = shape::build("direct", 5, Collective::kAllToAll);
  EXPECT_EQ(schedule.steps.size(), 1U);
  EXPECT_EQ(shape::total(schedule), shape::total(shape::build("pairwise", 5, Collective::kAllToAll)));
}

}  // namespace lockstep
