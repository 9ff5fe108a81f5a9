#include "train/sharded/gather_log.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(GatherLog, GoesIntoTheReportInTheOrderOfLaunches) {
  GatherLog log;
  log.enter("forward");
  log.exposed_ms() += 2;
  log.add({.index = 1, .launched_us = 10});
  log.add({.index = 2, .launched_us = 30});
  SyncReport report;
  report.exposed_ms = 1;
  report.buckets = {{.index = 3, .launched_us = 20}};
  log.take_into(report);
  ASSERT_EQ(report.buckets.size(), 3u);
  EXPECT_EQ(report.buckets[0].index, 1);
  EXPECT_EQ(report.buckets[1].index, 3);
  EXPECT_EQ(report.buckets[2].index, 2);
  EXPECT_EQ(report.exposed_ms, 3);
  log.take_into(report);
  EXPECT_EQ(report.buckets.size(), 3u);
  EXPECT_EQ(report.exposed_ms, 3);
}

TEST(GatherLog, TimeBelongsToWhereTheIterationIs) {
  GatherLog log;
  log.enter("forward");
  log.exposed_ms() += 1;
  log.enter("backward");
  log.exposed_ms() += 2;  // before the first gradient
  log.begin_gradients();
  log.exposed_ms() += 4;
  SyncReport report;
  log.take_into(report);
  EXPECT_EQ(report.exposed_ms, 7);
  EXPECT_EQ(report.exposed_in_forward_ms, 3);
  EXPECT_EQ(report.exposed_in_backward_ms, 4);
  log.enter("step");
  log.exposed_ms() += 8;
  log.take_into(report);
  EXPECT_EQ(report.exposed_ms, 15);
  EXPECT_EQ(report.exposed_in_backward_ms, 4);
  log.enter("forward");
  log.exposed_ms() += 16;
  log.take_into(report);
  EXPECT_EQ(report.exposed_in_forward_ms, 19);
}

TEST(GatherLog, TimeOfNoIterationIsNotExposed) {
  GatherLog log;
  log.exposed_ms() += 5;
  SyncReport report;
  log.take_into(report);
  EXPECT_EQ(report.exposed_ms, 0);
}

TEST(GatherLog, ForgetsTheOldestOfForwardsWithoutBackward) {
  GatherLog log;
  for (int i = 0; i < 10000; ++i) log.add({.index = i, .launched_us = i});
  SyncReport report;
  log.take_into(report);
  EXPECT_LT(report.buckets.size(), 5000u);
  EXPECT_EQ(report.buckets.back().index, 9999);
}

}  // namespace
}  // namespace lockstep
