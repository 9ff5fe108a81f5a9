#include "algorithms/shape_for_tests.h"
#include "schedule/proof.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Naive, MovesEveryBufferToEveryRankInOneStep) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Schedule schedule = shape::build("naive", ranks);
    EXPECT_EQ(schedule.steps.size(), 1U);
    EXPECT_EQ(schedule.chunks, 1);
    EXPECT_EQ(shape::total(schedule), ranks * (ranks - 1));
  }
}

TEST(Naive, EverybodySumsInTheCanonicalOrder) {
  const Proof proof = prove(shape::build("naive", 5));
  EXPECT_TRUE(proof.canonical);
  ASSERT_EQ(proof.orders.size(), 1U);
  EXPECT_EQ(proof.orders[0].expression, "(((0+1)+(2+3))+4)");
}

}  // namespace lockstep
