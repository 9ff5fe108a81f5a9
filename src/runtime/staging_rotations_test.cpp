#include "runtime/staging_rotations.h"

#include "algorithms/every_request_for_tests.h"
#include "base/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace lockstep {

namespace {

using Stage = Plan::Stage;
using testing::ElementsAre;

StagingRotations rotations_of(const Schedule& schedule) { return {schedule, Versions(schedule)}; }

}  // namespace

TEST(StagingRotations, WhatTwoRanksLeaveForEachOtherTradesPlaces) {
  const StagingRotations rotations = rotations_of(find_algorithm("direct").build({.ranks = 2}));
  EXPECT_THAT(
      rotations.all(),
      ElementsAre(ElementsAre(Stage{.rank = 0, .chunk = 0, .version = 1}, Stage{.rank = 1, .chunk = 1, .version = 1}),
                  ElementsAre(Stage{.rank = 0, .chunk = 1, .version = 0}, Stage{.rank = 1, .chunk = 0, .version = 0})));
}

TEST(StagingRotations, WhatGoesAroundARingGoesAroundTheAreas) {
  const StagingRotations rotations = rotations_of(find_algorithm("ring").build({.ranks = 4}));
  ASSERT_EQ(rotations.all().size(), 6);
  for (const Plan::Rotation& rotation : rotations.all()) {
    ASSERT_EQ(rotation.size(), 4);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(rotation[(i + 1) % 4].rank, (rotation[i].rank + 3) % 4);
  }
}

TEST(StagingRotations, WhatSeveralReadStaysWhereItIs) {
  const StagingRotations rotations = rotations_of(find_algorithm("naive").build({.ranks = 3}));
  EXPECT_FALSE(rotations.of({.rank = 0, .chunk = 0, .version = 0}).rotates());
}

TEST(StagingRotations, WhatGoesOneWayStaysWhereItIs) {
  Schedule chain{.name = "chain", .collective = Collective::kBroadcast, .ranks = 4, .chunks = 1};
  for (int rank = 0; rank < 3; ++rank) chain.steps.push_back({{TransferKind::kCopy, 0, rank, rank + 1}});
  EXPECT_THAT(rotations_of(chain).all(), testing::IsEmpty());
}

/// By number of ranks.
class EveryAlgorithmsRotations : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, EveryAlgorithmsRotations, testing::Range(2, 9), testing::PrintToStringParamName());

TEST_P(EveryAlgorithmsRotations, LetEachRankWriteWhereItAloneHasRead) {
  std::size_t found = 0;
  for_each_request_on(GetParam(), [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    const Schedule schedule = algorithm.build(request);
    const Versions versions(schedule);
    const StagingRotations rotations(schedule, versions);
    for (const Plan::Rotation& rotation : rotations.all()) {
      for (const Stage& value : rotation) {
        ++found;
        const Stage next = rotations.next(value);
        const auto& readers = versions.of(next.rank, next.chunk)[at(next.version)].readers;
        ASSERT_EQ(readers.size(), 1);
        EXPECT_EQ(readers.front().rank, value.rank);
      }
    }
  });
  EXPECT_GT(found, 0);
}

TEST_P(EveryAlgorithmsRotations, GiveEachValueAPlaceOfItsOwnAtEveryTurn) {
  for_each_request_on(GetParam(), [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    const Schedule schedule = algorithm.build(request);
    const Versions versions(schedule);
    const StagingRotations rotations(schedule, versions);
    std::set<Stage> taken;
    std::size_t values = 0;
    for (const Plan::Rotation& rotation : rotations.all()) {
      values += rotation.size();
      taken.insert(rotation.begin(), rotation.end());
    }
    EXPECT_EQ(taken.size(), values) << algorithm.name;
  });
}

}  // namespace lockstep
