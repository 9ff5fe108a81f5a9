#include "algorithms/shape_for_tests.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Star, EverythingPassesThroughOneRank) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Schedule schedule = shape::build("star", ranks);
    EXPECT_EQ(schedule.steps.size(), 2U);
    EXPECT_EQ(shape::total(schedule), 2 * (ranks - 1));
    for (const Step& step : schedule.steps) {
      for (const Transfer& transfer : step) EXPECT_TRUE(transfer.from == 0 || transfer.to == 0);
    }
  }
}

TEST(Star, TheRootIsItsCentre) {
  for (const Collective half :
       {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter}) {
    const Schedule schedule = shape::build("star", 4, half, 2);
    EXPECT_EQ(schedule.steps.size(), 1U);
    EXPECT_EQ(shape::total(schedule), 3) << to_string(half);
    for (const Transfer& transfer : schedule.steps[0]) EXPECT_TRUE(transfer.from == 2 || transfer.to == 2);
  }
}

}  // namespace lockstep
