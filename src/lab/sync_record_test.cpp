#include "lab/sync_record.h"

#include <gmock/gmock.h>
#include <lockstep/world.h>

namespace lockstep::lab {

namespace {

SyncReport report() {
  SyncReport report;
  report.exposed_ms = 3;
  report.bytes = 500;
  report.last_gradient_us = 10'000;
  report.buckets = {{.index = 0, .bytes = 100, .algorithm = "ring", .launched_us = 2'000, .completed_us = 6'000},
                    {.index = 1, .bytes = 400, .launched_us = 5'000, .completed_us = 13'000, .begun_us = 6'000}};
  report.buckets[1].operation = "reduce_scatter";
  report.buckets[1].block = "layers.0";
  report.buckets[1].phase = "backward";
  report.buckets[1].steps = 3;
  report.buckets[1].wire_bytes = 200;
  report.buckets[1].predicted_ms = 3.5;
  return report;
}

/// As at stage 3: a gather for which forward waits, a reduction of which bytes are moved between gradients, and a
/// gather of step(). Of 4, 3 and 2 ms under way, 3, 0.5 and 2 are exposed.
SyncReport report_of_stage_three() {
  SyncReport report;
  report.exposed_in_forward_ms = 3;
  report.exposed_in_backward_ms = 0.5;
  report.exposed_ms = 5.5;
  report.last_gradient_us = 10'000;
  report.buckets = {{.launched_us = 0, .completed_us = 4'000, .phase = "forward"},
                    {.launched_us = 6'000, .completed_us = 9'000, .phase = "backward"},
                    {.launched_us = 11'000, .completed_us = 13'000, .phase = "step"}};
  return report;
}

}  // namespace

TEST(SyncRecord, SplitsTheIterationIntoWhatWasHiddenAndWhatWasNot) {
  run_threads(2, [](World& world) {
    const IterationRecord record = record_of(world, report(), 20, {});
    EXPECT_DOUBLE_EQ(record.exposed_ms, 3);
    EXPECT_DOUBLE_EQ(record.compute_ms, 17);
    EXPECT_DOUBLE_EQ(record.hidden_ms, 8) << "of 11 ms under way, from 2 ms to 13";
    EXPECT_DOUBLE_EQ(record.communication_ms(), 11);
    EXPECT_EQ(record.bytes, 500U);
    EXPECT_EQ(record.algorithm, "ring");
    EXPECT_THAT(record.buckets, testing::IsEmpty()) << "nobody asked for them";
  });
}

TEST(SyncRecord, WhatForwardAndBackwardWaitedForIsExposedAndNotHiddenToo) {
  run_threads(2, [](World& world) {
    const IterationRecord record = record_of(world, report_of_stage_three(), 20, {});
    EXPECT_DOUBLE_EQ(record.exposed_ms, 5.5);
    EXPECT_DOUBLE_EQ(record.hidden_ms, 3.5);
    EXPECT_DOUBLE_EQ(record.communication_ms(), 4 + 3 + 2);
  });
}

TEST(SyncRecord, OperationsThatOverlapCountOnce) {
  SyncReport report;
  report.exposed_ms = 1;
  report.buckets = {{.launched_us = 0, .completed_us = 4'000}, {.launched_us = 2'000, .completed_us = 5'000}};
  EXPECT_DOUBLE_EQ(hidden_ms(report), 4);
}

TEST(SyncRecord, HidesNothingWhereAllWasWaitedFor) {
  SyncReport report = report_of_stage_three();
  report.exposed_ms = 9.25;  // with what it took to ask for it
  EXPECT_EQ(hidden_ms(report), 0);
}

TEST(SyncRecord, NamesEachBucketWhereThatIsAskedFor) {
  run_threads(2, [](World& world) {
    const IterationRecord record = record_of(world, report(), 20, {.log_sync = true});
    ASSERT_EQ(record.buckets.size(), 2U);
    EXPECT_DOUBLE_EQ(record.buckets[0].milliseconds, 4);
    EXPECT_DOUBLE_EQ(record.buckets[1].milliseconds, 7) << "from when the first one was complete";
    EXPECT_EQ(record.buckets[1].operation, "reduce_scatter");
    EXPECT_EQ(record.buckets[1].block, "layers.0");
    EXPECT_EQ(record.buckets[1].phase, "backward");
    EXPECT_EQ(record.buckets[1].steps, 3);
    EXPECT_EQ(record.buckets[1].wire_bytes, 200U);
    EXPECT_EQ(record.buckets[1].prediction_error(), -0.5);
  });
}

TEST(SyncRecord, OfARankAloneHasNoCommunication) {
  run_threads(1, [](World& world) {
    const IterationRecord record = record_of(world, report(), 20, {});
    EXPECT_EQ(record.bytes, 0U);
    EXPECT_EQ(record.hidden_ms, 0);
    EXPECT_EQ(record.algorithm, "");
  });
}

}  // namespace lockstep::lab
