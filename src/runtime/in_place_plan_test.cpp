#include "runtime/plan.h"
#include "runtime/plans_for_tests.h"

#include "algorithms/catalog.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

/// Rank 1's value is added into rank 0's, and the sum goes back.
Schedule there_and_back() {
  return {.name = "there and back", .ranks = 2, .chunks = 1, .steps = {{{kReduce, 0, 1, 0}}, {{kCopy, 0, 0, 1}}}};
}

}  // namespace

TEST(InPlacePlan, ASumGoesToWhomItIsCopiedNextInTheSamePass) {
  EXPECT_EQ(describe(make_in_place_plan(there_and_back(), 0)),
            "0 after 1>=0 | 0: in0 in1 -> out0 out1 !\n"
            "2 end after 1>=2");
  EXPECT_EQ(describe(make_in_place_plan(there_and_back(), 1)),
            "1 after 0>=1\n"
            "2 end after 0>=1");
}

TEST(InPlacePlan, ACopyWaitsWhereSomebodyElseStillReadsWhatItOverwrites) {
  // Rank 2 reads rank 1's value in the very step in which rank 0 makes the sum that will overwrite it.
  const Schedule schedule{.name = "two readers",
                          .ranks = 3,
                          .chunks = 1,
                          .steps = {{{kReduce, 0, 1, 0}, {kReduce, 0, 1, 2}}, {{kCopy, 0, 0, 1}}}};
  EXPECT_EQ(describe(make_in_place_plan(schedule, 0)),
            "0 after 1>=0 | 0: in0 in1 -> out0 !\n"
            "2 end after 1>=2");
  EXPECT_EQ(describe(make_in_place_plan(schedule, 1)),
            "1 after 0>=1 2>=1 | 0: out0 -> out1\n"
            "2 end after 0>=1 2>=1");
}

TEST(InPlacePlan, ASumThatGoesOnAtOnceWaitsForWhoReadWhatItOverwrites) {
  // Rank 2 reads rank 1's value in a step before, and has nothing to do with the sum.
  const Schedule schedule{.name = "an old reader",
                          .ranks = 4,
                          .chunks = 1,
                          .steps = {{{kReduce, 0, 1, 2}}, {{kReduce, 0, 3, 0}}, {{kCopy, 0, 0, 1}}}};
  EXPECT_EQ(describe(make_in_place_plan(schedule, 0)),
            "1 after 1>=0 2>=1 3>=0 | 0: in0 in3 -> out0 out1 !\n"
            "3 end after 1>=3");
}

TEST(InPlacePlan, NoSumGoesOnAtOnceToWhoMakesOneThere) {
  const Schedule schedule{.name = "two sums",
                          .ranks = 4,
                          .chunks = 1,
                          .steps = {{{kReduce, 0, 2, 0}, {kReduce, 0, 3, 1}}, {{kCopy, 0, 0, 1}}}};
  EXPECT_EQ(describe(make_in_place_plan(schedule, 0)),
            "0 after 2>=0 | 0: in0 in2 -> out0 !\n"
            "2 end after 1>=2");
  EXPECT_EQ(describe(make_in_place_plan(schedule, 1)),
            "0 after 3>=0 | 0: in1 in3 -> out1\n"
            "1 after 0>=1 | 0: out0 -> out1\n"
            "2 end after");
}

TEST(InPlacePlan, PartialSumsAreNotFinished) {
  const Schedule schedule{
      .name = "chain", .ranks = 3, .chunks = 1, .steps = {{{kReduce, 0, 0, 1}}, {{kReduce, 0, 1, 2}}}};
  EXPECT_EQ(describe(make_in_place_plan(schedule, 1)),
            "0 after 0>=0 | 0: in0 in1 -> out1\n"
            "2 end after 2>=2");
  EXPECT_EQ(describe(make_in_place_plan(schedule, 2)),
            "1 after 1>=1 | 0: out1 in2 -> out2 !\n"
            "2 end after");
}

TEST(InPlacePlan, AnExchangeDoesNotRunInPlace) {
  const Schedule exchange{
      .name = "exchange", .ranks = 2, .chunks = 1, .steps = {{{kReduce, 0, 0, 1}, {kReduce, 0, 1, 0}}}};
  EXPECT_FALSE(runs_in_place(exchange));
  EXPECT_TRUE(runs_in_place(there_and_back()));
  EXPECT_TRUE(runs_in_place(find_algorithm("direct").build({.ranks = 5})));
}

/// Direct exchange on registered memory is one pass: each rank sums its chunk from all and writes it to all.
TEST(InPlacePlan, DirectExchangeIsOnePass) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    const Schedule schedule = find_algorithm("direct").build({.ranks = ranks});
    for (int rank = 0; rank < ranks; ++rank) {
      std::size_t moves = 0;
      for (const Plan::Step& step : make_in_place_plan(schedule, rank).steps) {
        moves += step.moves.size();
        for (const Plan::Move& move : step.moves) {
          EXPECT_EQ(move.operands.size(), static_cast<std::size_t>(ranks));
          EXPECT_EQ(move.targets.size(), static_cast<std::size_t>(ranks));
        }
      }
      EXPECT_EQ(moves, 1U);
    }
  }
}

TEST(InPlacePlan, WhatIsWrittenWhereAnotherRankReadsIsTakenBack) {
  const Schedule chain{.name = "chain", .ranks = 3, .chunks = 1, .steps = {{{kReduce, 0, 0, 1}}, {{kReduce, 0, 1, 2}}}};
  EXPECT_TRUE(make_in_place_plan(chain, 1).steps.front().moves.front().takes_back) << "rank 2 reads it";
  EXPECT_FALSE(make_in_place_plan(chain, 2).steps.front().moves.front().takes_back);
  // Rank 0 reads rank 1's value, and writes there itself; rank 1 reads nothing of what is pushed to it.
  EXPECT_FALSE(make_in_place_plan(there_and_back(), 0).steps.front().moves.front().takes_back);
  const Schedule later{.name = "later",
                       .ranks = 3,
                       .chunks = 1,
                       .steps = {{{kReduce, 0, 1, 0}}, {{kCopy, 0, 0, 1}}, {{kCopy, 0, 1, 2}}}};
  EXPECT_TRUE(make_in_place_plan(later, 0).steps.front().moves.front().takes_back)
      << "rank 2 reads what is pushed to 1";
}

}  // namespace lockstep
