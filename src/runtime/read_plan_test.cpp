// A schedule that was read from a file runs by the plans of the catalogue's.
#include "algorithms/every_request_for_tests.h"
#include "runtime/message_plan.h"
#include "runtime/plan.h"
#include "schedule/text.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

Schedule written_and_read(const Schedule& schedule) { return parse_schedule(to_text(schedule), "a file"); }

}  // namespace

/// By number of ranks.
class PlansOfWhatWasRead : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, PlansOfWhatWasRead, testing::Range(2, 9), testing::PrintToStringParamName());

TEST_P(PlansOfWhatWasRead, AreTheCatalogues) {
  std::size_t in_place = 0;
  const auto compare = [&](const Algorithm& algorithm, const ScheduleRequest& request) {
    const Schedule built = algorithm.build(request);
    const Schedule read = written_and_read(built);
    ASSERT_EQ(runs_in_place(read), runs_in_place(built));
    for (int rank = 0; rank < request.ranks; ++rank) {
      ASSERT_EQ(make_staged_plan(read, rank), make_staged_plan(built, rank));
      if (!runs_in_place(built)) continue;
      ASSERT_EQ(make_in_place_plan(read, rank), make_in_place_plan(built, rank));
      ++in_place;
    }
  };
  for_each_request_on(GetParam(), compare);
  for_each_composed_request_on(GetParam(), compare);
  EXPECT_GT(in_place, 0U);
}

/// What was read stays whole there, and of the catalogue's a rank builds its own part only.
TEST_P(PlansOfWhatWasRead, AreTheCataloguesOverMessages) {
  const auto compare = [](const Algorithm& algorithm, ScheduleRequest request) {
    const Schedule read = written_and_read(algorithm.build(request));
    for (int rank = 0; rank < request.ranks; ++rank) {
      request.only_rank = rank;
      ASSERT_EQ(make_message_plan(read, rank), make_message_plan(algorithm.build(request), rank)) << "of rank " << rank;
    }
  };
  for_each_request_on(GetParam(), compare);
  for_each_composed_request_on(GetParam(), compare);
}

}  // namespace lockstep
