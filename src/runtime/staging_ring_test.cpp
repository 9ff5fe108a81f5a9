#include "runtime/staging_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

using testing::ElementsAre;

constexpr std::size_t kPlaceBytes = 4096;

/// The turns of so many uses, one after the other.
std::vector<std::uint64_t> take(StagingRing& ring, const Plan& plan, int uses, std::size_t place_bytes = kPlaceBytes) {
  std::vector<std::uint64_t> turns;
  for (int use = 0; use < uses; ++use) {
    turns.push_back(ring.take({.plan = &plan, .turns = &ring.turns_of(plan, place_bytes)}));
  }
  return turns;
}

}  // namespace

TEST(StagingRing, EachSlotHasItsTurns) {
  StagingRing ring(1 << 20);
  const Plan plan;
  EXPECT_THAT(take(ring, plan, 5), ElementsAre(0, 0, 1, 1, 2));
}

/// A barrier or the loss between two buckets of gradients leaves those in turn: what it does not touch lies where they
/// left it.
TEST(StagingRing, WhatComesBetweenDoesNotEndTheTurns) {
  StagingRing ring(1 << 20);
  const Plan buckets;
  const Plan loss;
  EXPECT_THAT(take(ring, buckets, 2), ElementsAre(0, 0));
  EXPECT_THAT(take(ring, loss, 1), ElementsAre(0));
  EXPECT_THAT(take(ring, buckets, 3), ElementsAre(1, 1, 2));
  EXPECT_THAT(take(ring, loss, 2), ElementsAre(1, 0)) << "the second slot was not its before";
}

TEST(StagingRing, OtherPlacesAreAnotherKind) {
  StagingRing ring(1 << 20);
  const Plan plan;
  take(ring, plan, 4);
  EXPECT_THAT(take(ring, plan, 2, 2 * kPlaceBytes), ElementsAre(0, 0));
}

TEST(StagingRing, TheNextPieceInTheSameSlotIsTheNextTurn) {
  StagingRing ring(1 << 20);
  const Plan plan;
  take(ring, plan, 1);
  const std::size_t other_slot = ring.offset_bytes();
  EXPECT_EQ(ring.take_again(7), 1);
  EXPECT_EQ(ring.offset_bytes(), other_slot);
  EXPECT_THAT(take(ring, plan, 1), ElementsAre(0));
  EXPECT_EQ(ring.previous_use().first_tick, 7) << "its readers are through once they have read the last piece";
  EXPECT_THAT(take(ring, plan, 1), ElementsAre(2));
  EXPECT_EQ(ring.previous_use().first_tick, 0) << "of the second slot";
}

/// Whoever goes on in turn waits for who read where it writes now; another plan for who reads in this rank's area, and
/// with rotations, by which it writes into those of others, for everybody.
TEST(StagingRing, WhatMustBeOverDependsOnWhoComesNext) {
  StagingRing ring(1 << 20);
  Plan plan;
  plan.rotations = {{{.rank = 0, .chunk = 0, .version = 0}, {.rank = 1, .chunk = 0, .version = 0}}};
  const Plan in_its_place;
  StagingRing::Turns& turns = ring.turns_of(plan, kPlaceBytes);
  take(ring, plan, 2);
  const StagingRing::Use& use = ring.previous_use();
  EXPECT_EQ(&use.waits_before(plan, turns), &plan.after_turning);
  EXPECT_EQ(&use.waits_before(plan, ring.turns_of(plan, 2 * kPlaceBytes)), &plan.after_all);
  EXPECT_EQ(&use.waits_before(in_its_place, ring.turns_of(in_its_place, kPlaceBytes)), &plan.after);
}

}  // namespace lockstep
