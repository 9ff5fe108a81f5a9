#include "schedule/rendezvous.h"

#include "schedule/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

using testing::HasSubstr;

/// Each rank sends chunk 0 to the next in the first step, chunk 1 in the second.
std::vector<RankView> circle(int ranks) {
  ScheduleBuilder s({.name = "circle", .ranks = ranks, .chunks = 2});
  for (const int chunk : {0, 1}) {
    for (int rank = 0; rank < ranks; ++rank) s.reduce(chunk, {.from = rank, .to = (rank + 1) % ranks});
    s.end_step();
  }
  return views_of(s.take());
}

}  // namespace

TEST(Rendezvous, ACircleMeetsBecauseStepsArePostedWhole) { EXPECT_FALSE(check_rendezvous(circle(5)).has_value()); }

TEST(Rendezvous, AReceiveThatNobodyPostsIsWaitedForForEver) {
  auto views = circle(3);
  views[1].steps[1].receives.clear();
  const auto refusal = check_rendezvous(views);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->rank, 0);
  EXPECT_EQ(refusal->step, 1);
  EXPECT_THAT(refusal->sentence, HasSubstr("rank 0 waits for ever for rank 1, which never receives chunk 1"));
}

TEST(Rendezvous, ASendThatNobodyPostsIsWaitedForForEver) {
  auto views = circle(3);
  views[0].steps[1].sends.clear();
  const auto refusal = check_rendezvous(views);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->rank, 1);
  EXPECT_THAT(refusal->sentence, HasSubstr("which never sends chunk 1"));
}

TEST(Rendezvous, HalvesOfDifferentTransfersDoNotMeet) {
  auto views = circle(3);
  views[2].steps[0].receives[0].chunk = 1;
  const auto refusal = check_rendezvous(views);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(refusal->sentence, HasSubstr("from rank 1 to rank 2"));
}

TEST(Rendezvous, RanksThatTakeTheirStepsInAnotherOrderAreFound) {
  auto views = circle(3);
  std::swap(views[1].steps[0], views[1].steps[1]);
  EXPECT_TRUE(check_rendezvous(views).has_value());
}

TEST(Rendezvous, AViewThatIsCutShortIsFound) {
  auto views = circle(2);
  views[0].steps.pop_back();
  const auto refusal = check_rendezvous(views);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->rank, 1);
}

}  // namespace lockstep
