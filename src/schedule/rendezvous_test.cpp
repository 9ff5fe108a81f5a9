#include "schedule/rendezvous.h"

#include "schedule/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {

namespace {

using testing::HasSubstr;

/// Each rank sends chunk 0 to the next in the first step, chunk 1 in the second.
Posts circle(int ranks) {
  ScheduleBuilder s({.name = "circle", .ranks = ranks, .chunks = 2});
  for (const int chunk : {0, 1}) {
    for (int rank = 0; rank < ranks; ++rank) s.reduce(chunk, {.from = rank, .to = (rank + 1) % ranks});
    s.end_step();
  }
  return posts_of(s.take());
}

void forget(std::vector<TransferHalf>& posts, int step, bool is_send) {
  EXPECT_EQ(
      std::erase_if(posts, [&](const TransferHalf& half) { return half.step == step && half.is_send == is_send; }), 1U);
}

}  // namespace

TEST(Rendezvous, ACircleMeetsBecauseStepsArePostedWhole) { EXPECT_FALSE(check_rendezvous(circle(5)).has_value()); }

TEST(Rendezvous, AReceiveThatNobodyPostsIsWaitedForForEver) {
  Posts posts = circle(3);
  forget(posts[1], 1, false);
  const auto refusal = check_rendezvous(posts);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->rank, 0);
  EXPECT_EQ(refusal->step, 1);
  EXPECT_THAT(refusal->sentence, HasSubstr("rank 0 waits for ever for rank 1, which never receives chunk 1"));
}

TEST(Rendezvous, ASendThatNobodyPostsIsWaitedForForEver) {
  Posts posts = circle(3);
  forget(posts[0], 1, true);
  const auto refusal = check_rendezvous(posts);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->rank, 1);
  EXPECT_THAT(refusal->sentence, HasSubstr("which never sends chunk 1"));
}

TEST(Rendezvous, HalvesOfDifferentTransfersDoNotMeet) {
  Posts posts = circle(3);
  for (TransferHalf& half : posts[2]) {
    if (half.step == 0 && !half.is_send) half.transfer.chunk = 1;
  }
  const auto refusal = check_rendezvous(posts);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(refusal->sentence, HasSubstr("from rank 1 to rank 2"));
}

TEST(Rendezvous, HalvesOfDifferentStepsDoNotMeet) {
  const Transfer transfer{TransferKind::kReduce, 0, 0, 1};
  const auto refusal = check_rendezvous({{{transfer, 0, true}}, {{transfer, 1, false}}});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(refusal->sentence, HasSubstr("a transfer of chunk 0 in step 1 meets one of chunk 0 in step 0"));
}

TEST(Rendezvous, RanksThatTakeTheirStepsInAnotherOrderAreFound) {
  Posts posts = circle(3);
  std::rotate(posts[1].begin(), posts[1].begin() + 2, posts[1].end());
  EXPECT_EQ(posts[1].front().step, 1);
  EXPECT_TRUE(check_rendezvous(posts).has_value());
}

/// Rank 0 hears from 1 before it sends to 2, which tells 1 what it needs to send to 0.
TEST(Rendezvous, RanksThatWaitForEachOtherInACircleAreFound) {
  const Transfer first{TransferKind::kReduce, 0, 1, 0};
  const Transfer second{TransferKind::kReduce, 0, 0, 2};
  const Transfer third{TransferKind::kReduce, 0, 2, 1};
  const Posts posts{{{first, 0, false}, {second, 1, true}},
                    {{third, 2, false}, {first, 0, true}},
                    {{second, 1, false}, {third, 2, true}}};
  const auto refusal = check_rendezvous(posts);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(refusal->sentence, HasSubstr("rank 0 waits for ever for rank 1, which never sends chunk 0"));
}

TEST(Rendezvous, WhoIsCutShortIsFound) {
  Posts posts = circle(2);
  std::erase_if(posts[0], [](const TransferHalf& half) { return half.step == 1; });
  const auto refusal = check_rendezvous(posts);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->rank, 1);
}

TEST(Rendezvous, SeveralTransfersOfAPairMeetInTheOrderPosted) {
  ScheduleBuilder s({.name = "several", .ranks = 2, .chunks = 3});
  for (const int chunk : {0, 1, 2}) s.reduce(chunk, {.from = 0, .to = 1});
  Posts posts = posts_of(s.take());
  EXPECT_FALSE(check_rendezvous(posts).has_value());
  std::swap(posts[1][0], posts[1][1]);
  EXPECT_TRUE(check_rendezvous(posts).has_value());
}

TEST(Rendezvous, WhoRestsPostsNothing) {
  Schedule schedule{.ranks = 3, .steps = std::vector<Step>(7)};
  schedule.steps[4].push_back({TransferKind::kReduce, 0, 2, 1});
  const Posts posts = posts_of(schedule);
  EXPECT_TRUE(posts[0].empty());
  ASSERT_EQ(posts[1].size(), 1U);
  EXPECT_EQ(posts[1][0].step, 4);
  EXPECT_FALSE(posts[1][0].is_send);
  ASSERT_EQ(posts[2].size(), 1U);
  EXPECT_TRUE(posts[2][0].is_send);
}

}  // namespace lockstep
