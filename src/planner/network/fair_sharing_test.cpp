#include "planner/network/fair_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

FairSharing::Work work(double alone_s, std::initializer_list<FairSharing::Use> uses) {
  FairSharing::Work result{.alone_s = alone_s, .use_count = 0, .uses = {}};
  for (const FairSharing::Use& use : uses) result.uses[result.use_count++] = use;
  return result;
}

}  // namespace

TEST(FairSharing, AloneWorkTakesItsTime) {
  FairSharing sharing(1);
  sharing.start(work(2, {{0, 1}}), 7);
  EXPECT_THAT(sharing.next(), ElementsAre(7));
  EXPECT_DOUBLE_EQ(sharing.now(), 2);
  EXPECT_THAT(sharing.next(), IsEmpty());
}

TEST(FairSharing, TwoShareAndTheSecondSpeedsUpWhenAlone) {
  FairSharing sharing(1);
  sharing.start(work(1, {{0, 1}}), 1);
  sharing.start(work(2, {{0, 1}}), 2);
  EXPECT_THAT(sharing.next(), ElementsAre(1));
  EXPECT_DOUBLE_EQ(sharing.now(), 2);  // both at half speed
  EXPECT_THAT(sharing.next(), ElementsAre(2));
  EXPECT_DOUBLE_EQ(sharing.now(), 3);
}

TEST(FairSharing, WhatASlowedFlowLeavesGoesToTheOthers) {
  // Three on resource 0, one of them on resource 1 too, which a fourth fills with it: 1/2, 1/2 at 1; at 0 the other two
  // share... all three could have 1/3 there, which is less than 1/2: so the one takes 1/3 and the fourth 2/3.
  FairSharing sharing(2);
  for (int owner = 0; owner < 2; ++owner) sharing.start(work(1, {{0, 1}}), owner);
  sharing.start(work(1, {{0, 1}, {1, 1}}), 2);
  sharing.start(work(1, {{1, 1}}), 3);
  EXPECT_THAT(sharing.next(), ElementsAre(3));
  EXPECT_NEAR(sharing.now(), 1.5, 1e-12);
  EXPECT_THAT(sharing.next(), UnorderedElementsAre(0, 1, 2));
  EXPECT_NEAR(sharing.now(), 3, 1e-12);
}

/// Where 8192 is added to, each of the small shares is rounded up by as much again; where only small ones are left they
/// are taken away exactly. So 6e-9 remain of what all have taken.
TEST(FairSharing, WhatRoundingLeavesOfALoadIsNobodys) {
  constexpr int kLarge = 8192;
  constexpr int kSmall = 8000;
  constexpr double kSmallShare = 0x1p-6 + 9 * 0x1p-43;
  FairSharing sharing(1);
  for (int owner = 0; owner < kLarge; ++owner) sharing.start(work(1, {{0, 1}}), owner);
  for (int owner = 0; owner < kSmall; ++owner) sharing.start(work(1, {{0, kSmallShare}}), kLarge + owner);
  EXPECT_EQ(sharing.next().size(), std::size_t{kLarge + kSmall}) << "all at the same speed";
  EXPECT_NEAR(sharing.now(), kLarge + kSmall * kSmallShare, 1e-6);
  EXPECT_THAT(sharing.next(), IsEmpty());
}

TEST(FairSharing, ADelayUsesNothing) {
  FairSharing sharing(1);
  sharing.start(work(1, {}), 0);
  sharing.start(work(1, {{0, 0.5}}), 1);
  sharing.start(work(1, {{0, 0.5}}), 2);
  EXPECT_THAT(sharing.next(), UnorderedElementsAre(0, 1, 2));
  EXPECT_DOUBLE_EQ(sharing.now(), 1);
}

TEST(FairSharing, PlacesOfFinishedWorkAreTakenAgain) {
  FairSharing sharing(2);
  sharing.start(work(10000, {{0, 0.5}, {1, 1}}), -1);
  for (int round = 0; round < 1000; ++round) {
    sharing.start(work(0.25, {{round % 2, 0.5}}), round);
    ASSERT_THAT(sharing.next(), ElementsAre(round));
  }
  // On resource 0 there is room for both; on resource 1 both run at 2/3 of their speed. 0.25 s of the long work are
  // done in every round.
  EXPECT_NEAR(sharing.now(), 500 * 0.25 + 500 * 0.375, 1e-9);
  EXPECT_THAT(sharing.next(), ElementsAre(-1));
  EXPECT_NEAR(sharing.now(), 312.5 + 9750, 1e-6);
  EXPECT_THAT(sharing.next(), IsEmpty());
}

}  // namespace lockstep
