#include "runtime/staging_twins.h"

#include "algorithms/every_request_for_tests.h"
#include "base/index.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

StagingTwins twins_of(const Schedule& schedule) { return {schedule, Versions(schedule)}; }

}  // namespace

TEST(StagingTwins, WhatTwoRanksLeaveForEachOtherTradesPlaces) {
  const StagingTwins twins = twins_of(find_algorithm("direct").build({.ranks = 2}));
  EXPECT_EQ(twins.of({.rank = 0, .chunk = 1, .version = 0}), (Plan::Stage{.rank = 1, .chunk = 0, .version = 0}));
  EXPECT_EQ(twins.of({.rank = 0, .chunk = 0, .version = 1}), (Plan::Stage{.rank = 1, .chunk = 1, .version = 1}));
}

TEST(StagingTwins, WhatSeveralReadStaysWhereItIs) {
  const StagingTwins twins = twins_of(find_algorithm("naive").build({.ranks = 3}));
  EXPECT_FALSE(twins.of({.rank = 0, .chunk = 0, .version = 0}));
}

TEST(StagingTwins, WhatGoesOneWayHasNoTwin) {
  const StagingTwins twins = twins_of(find_algorithm("ring").build({.ranks = 4}));
  for (int chunk = 0; chunk < 4; ++chunk) EXPECT_FALSE(twins.of({.rank = 0, .chunk = chunk, .version = 0}));
}

/// By number of ranks.
class EveryAlgorithmsTwins : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, EveryAlgorithmsTwins, testing::Range(2, 9), testing::PrintToStringParamName());

TEST_P(EveryAlgorithmsTwins, AreEachOthers) {
  int found = 0;
  for_each_request_on(GetParam(), [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    const Schedule schedule = algorithm.build(request);
    const Versions versions(schedule);
    const StagingTwins twins(schedule, versions);
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
        for (int number = 0; number < static_cast<int>(versions.of(rank, chunk).size()); ++number) {
          const Plan::Stage value{.rank = rank, .chunk = chunk, .version = number};
          const auto twin = twins.of(value);
          if (!twin) continue;
          ++found;
          EXPECT_EQ(twins.of(*twin), value);
          EXPECT_EQ(versions.of(twin->rank, twin->chunk)[at(twin->version)].readers.front().rank, rank);
        }
      }
    }
  });
  EXPECT_GT(found, 0);
}

}  // namespace lockstep
