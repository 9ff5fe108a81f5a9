#include "schedule/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string refusal(const ScheduleBuilder::Shape& shape) {
  try {
    ScheduleBuilder builder(shape);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST(ScheduleBuilder, WritesStepsInOrderAndClosesTheLast) {
  ScheduleBuilder s({.name = "mine", .ranks = 2, .chunks = 2});
  s.reduce(0, {.from = 1, .to = 0});
  s.reduce(1, {.from = 0, .to = 1});
  s.end_step();
  s.copy(0, {.from = 0, .to = 1});
  const Schedule schedule = s.take();
  ASSERT_THAT(schedule.steps, SizeIs(2));
  EXPECT_EQ(schedule.steps[0][1], (Transfer{TransferKind::kReduce, 1, 0, 1}));
  EXPECT_EQ(schedule.steps[1][0], (Transfer{TransferKind::kCopy, 0, 0, 1}));
}

TEST(ScheduleBuilder, DropsAStepOnlyIfNothingMovesAtAll) {
  ScheduleBuilder s({.name = "mine", .ranks = 3, .chunks = 1, .only_rank = 2});
  s.end_step();
  s.reduce(0, {.from = 1, .to = 0});  // not rank 2's, yet the step counts
  s.end_step();
  s.copy(0, {.from = 0, .to = 2});
  const Schedule schedule = s.take();
  ASSERT_THAT(schedule.steps, SizeIs(2));
  EXPECT_THAT(schedule.steps[0], IsEmpty());
  EXPECT_THAT(schedule.steps[1], SizeIs(1));
}

TEST(ScheduleBuilder, RefusesShapesThatCannotBe) {
  EXPECT_THAT(refusal({.name = "mine", .ranks = 0}), HasSubstr("it needs at least one rank"));
  EXPECT_THAT(refusal({.name = "mine", .ranks = 2, .chunks = 0}), HasSubstr("it needs at least one chunk"));
  EXPECT_THAT(refusal({.name = "mine", .ranks = 2, .root = 2}), HasSubstr("no rank 2 to start at"));
  EXPECT_THAT(refusal({.name = "mine", .ranks = 2, .only_rank = -1}), HasSubstr("no rank -1 to build it for"));
}

}  // namespace lockstep
