#include "algorithms/shape_for_tests.h"
#include "schedule/concrete_for_tests.h"
#include "schedule/proof.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Dissemination, IsOverAfterAsManyStepsAsTheLogarithmForAnyNumberOfRanks) {
  for (int ranks = 2; ranks <= 70; ++ranks) {
    SCOPED_TRACE(ranks);
    const Schedule schedule = shape::build("dissemination", ranks, Collective::kBarrier);
    EXPECT_EQ(schedule.steps.size(), shape::ceil_log2(ranks));
    EXPECT_EQ(shape::most_peers_in_a_step(schedule), 1);
    EXPECT_TRUE(prove(schedule).proved());
    EXPECT_TRUE(concrete::everybody_heard(schedule));
  }
}

TEST(Dissemination, WithAStepLessSomebodyIsNotHeardFrom) {
  for (const int ranks : {2, 3, 5, 8, 33}) {
    Schedule schedule = shape::build("dissemination", ranks, Collective::kBarrier);
    schedule.steps.pop_back();
    EXPECT_FALSE(prove(schedule).proved()) << ranks;
    EXPECT_FALSE(concrete::everybody_heard(schedule)) << ranks;
  }
}

TEST(Dissemination, OfAPowerOfTwoTakesAsManyStepsAsRecursiveDoublingOfOthersLess) {
  const auto steps = [](const char* name, int ranks) {
    return shape::build(name, ranks, Collective::kBarrier).steps.size();
  };
  EXPECT_EQ(steps("dissemination", 8), steps("recursive_doubling", 8));
  for (const int ranks : {3, 5, 6, 7, 12}) {
    EXPECT_LT(steps("dissemination", ranks), steps("recursive_doubling", ranks)) << ranks;
  }
}

}  // namespace lockstep
