#include "runtime/plan.h"

#include "algorithms/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

Schedule two_ranks() {
  // Rank 1's value is added into rank 0, and the sum goes back.
  return {.name = "star",
          .collective = Collective::kAllReduce,
          .ranks = 2,
          .chunks = 1,
          .steps = {{{TransferKind::kReduce, 0, 1, 0}}, {{TransferKind::kCopy, 0, 0, 1}}}};
}

std::string describe(const std::vector<Plan::Wait>& waits) {
  std::string text;
  for (const Plan::Wait& wait : waits) text += fmt::format(" {}>={}", wait.peer, wait.steps);
  return text;
}

std::string describe(const Plan& plan) {
  std::string text = fmt::format("{} {} {}\n", plan.algorithm, plan.chunks, plan.step_count);
  for (const Plan::Step& step : plan.steps) {
    text += fmt::format("step {} after{}:", step.index, describe(step.before));
    for (const Plan::Move& move : step.moves) {
      text += fmt::format(" {}{}{}({})", move.kind == TransferKind::kCopy ? 'c' : 'r', move.chunk,
                          move.finishes ? "!" : "", fmt::join(move.sources, ","));
    }
    text += '\n';
  }
  return text + "end after" + describe(plan.after);
}

MATCHER_P2(WaitsFor, peer, steps, "") { return arg.peer == peer && arg.steps == steps; }

}  // namespace

TEST(Plan, AReaderWaitsForTheStepsBefore) {
  const Plan plan = make_plan(two_ranks(), 0);
  ASSERT_EQ(plan.steps.size(), 1U);
  EXPECT_THAT(plan.steps[0].before, testing::ElementsAre(WaitsFor(1, 0)));
  EXPECT_TRUE(plan.steps[0].moves[0].finishes);
  // Rank 1 reads the sum in step 1; rank 0 may not leave before.
  EXPECT_THAT(plan.after, testing::ElementsAre(WaitsFor(1, 2)));
  EXPECT_EQ(plan.finished_before(0), 0);
  EXPECT_EQ(plan.finished_before(1), 2);
}

TEST(Plan, AWriterWaitsForWhoeverReadsTheOldValue) {
  const Plan plan = make_plan(two_ranks(), 1);
  ASSERT_EQ(plan.steps.size(), 1U);
  // The sum may only come once rank 0 has it, and has read what it overwrites: one wait serves both.
  EXPECT_THAT(plan.steps[0].before, testing::ElementsAre(WaitsFor(0, 1)));
  EXPECT_EQ(plan.finished_before(0), 1);
  EXPECT_THAT(plan.after, testing::ElementsAre(WaitsFor(0, 1)));
}

TEST(Plan, ReducesIntoAChunkAreOneMoveInTheOrderListed) {
  Schedule schedule = two_ranks();
  schedule.ranks = 3;
  schedule.steps[0] = {{TransferKind::kReduce, 0, 2, 0}, {TransferKind::kReduce, 0, 1, 0}};
  const Plan plan = make_plan(schedule, 0);
  ASSERT_EQ(plan.steps[0].moves.size(), 1U);
  EXPECT_THAT(plan.steps[0].moves[0].sources, testing::ElementsAre(2, 1));
}

TEST(Plan, PartialSumsAreNotComplete) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective : {Collective::kAllReduce, Collective::kReduceScatter}) {
      for (int ranks = 2; ranks <= 8; ++ranks) {
        const Schedule schedule = algorithm.build({.collective = collective, .ranks = ranks});
        // Each chunk is finished by exactly one rank: a mean divides there, and nowhere else.
        std::vector<int> completed(static_cast<std::size_t>(schedule.chunks));
        for (int rank = 0; rank < ranks; ++rank) {
          for (const Plan::Step& step : make_plan(schedule, rank).steps) {
            for (const Plan::Move& move : step.moves) completed[static_cast<std::size_t>(move.chunk)] += move.finishes;
          }
        }
        EXPECT_THAT(completed, testing::Each(1)) << algorithm.name << ' ' << to_string(collective) << ' ' << ranks;
      }
    }
  }
}

TEST(Plan, OneRanksViewGivesTheSamePlanAsTheWhole) {
  for (const Algorithm& algorithm : algorithms()) {
    const Schedule whole = algorithm.build({.collective = Collective::kAllReduce, .ranks = 7});
    for (int rank = 0; rank < 7; ++rank) {
      const Schedule view = algorithm.build({.collective = Collective::kAllReduce, .ranks = 7, .only_rank = rank});
      EXPECT_EQ(describe(make_plan(whole, rank)), describe(make_plan(view, rank)));
    }
  }
}

}  // namespace lockstep
