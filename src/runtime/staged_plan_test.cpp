#include "runtime/plan.h"
#include "runtime/plans_for_tests.h"

#include "algorithms/catalog.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(StagedPlan, OnlyWhatPeersReadPassesThroughStaging) {
  const Schedule schedule{
      .name = "there and back", .ranks = 2, .chunks = 1, .steps = {{{kReduce, 0, 1, 0}}, {{kCopy, 0, 0, 1}}}};
  // Nobody reads what rank 0 had; the sum goes to staging, for rank 1, and home.
  EXPECT_EQ(describe(make_staged_plan(schedule, 0)),
            "1 after 1>=1 | 0: in0 stage1.0>0.1.0 -> stage0.1>1.0.0 out0 !\n"
            "3 end after 1>=3, turning after");
  EXPECT_EQ(describe(make_staged_plan(schedule, 1)),
            "0 after | 0: in1 -> stage1.0>0.1.0\n"
            "2 after 0>=2 | 0: stage0.1>1.0.0 -> out1\n"
            "3 end after 0>=2, turning after");
  EXPECT_EQ(make_staged_plan(schedule, 0).staging_versions, 2);
}

TEST(StagedPlan, AnExchangeReadsWhatStoodWhenTheStepBegan) {
  const Schedule schedule{
      .name = "exchange", .ranks = 2, .chunks = 1, .steps = {{{kReduce, 0, 0, 1}, {kReduce, 0, 1, 0}}}};
  EXPECT_EQ(describe(make_staged_plan(schedule, 1)),
            "0 after | 0: in1 -> stage1.0>0.0.0\n"
            "1 after 0>=1 | 0: stage0.0>1.0.0 in1 -> out1 !\n"
            "2 end after 0>=2, turning after");
}

TEST(StagedPlan, APartialSumThatIsOverwrittenNeverComesHome) {
  const Schedule schedule{.name = "chain and back",
                          .ranks = 3,
                          .chunks = 1,
                          .steps = {{{kReduce, 0, 0, 1}}, {{kReduce, 0, 1, 2}}, {{kCopy, 0, 2, 1}}}};
  EXPECT_EQ(describe(make_staged_plan(schedule, 1)),
            "1 after 0>=1 | 0: stage0.0 in1 -> stage1.1>2.1.0\n"
            "3 after 2>=3 | 0: stage2.1>1.1.0 -> out1\n"
            "4 end after 2>=3, turning after");
}

TEST(StagedPlan, WhoAddsToWhatItStagedKeepsItHomeToo) {
  const Schedule schedule{.name = "sum, show, sum on",
                          .ranks = 3,
                          .chunks = 1,
                          .steps = {{{kReduce, 0, 0, 1}}, {{kCopy, 0, 1, 0}}, {{kReduce, 0, 2, 1}}}};
  EXPECT_EQ(describe(make_staged_plan(schedule, 1)),
            "1 after 0>=1 | 0: stage0.0>1.1.0 in1 -> stage1.1>0.0.0 out1\n"
            "3 after 2>=1 | 0: out1 stage2.0 -> out1 !\n"
            "4 end after 0>=3, turning after");
}

TEST(StagedPlan, WhoGoesOnAroundARingWaitsForItsNeighbourAlone) {
  const Schedule ring{.name = "around",
                      .collective = Collective::kAllToAll,
                      .ranks = 4,
                      .chunks = 1,
                      .steps = {{{kCopy, 0, 0, 1}, {kCopy, 0, 1, 2}, {kCopy, 0, 2, 3}, {kCopy, 0, 3, 0}}}};
  EXPECT_EQ(describe(make_staged_plan(ring, 1)),
            "0 after | 0: in1 -> stage1.0>0.0.0\n"
            "1 after 0>=1 | 0: stage0.0>3.0.0 -> out1\n"
            "2 end after 0>=2 2>=2 3>=2, turning after");
}

TEST(StagedPlan, BeforeAnotherOneWritesEverywhereAllOfItIsOverEverywhere) {
  const Schedule ring = find_algorithm("ring").build({.collective = Collective::kAllReduce, .ranks = 4});
  const Plan plan = make_staged_plan(ring, 1);
  EXPECT_EQ(plan.after_all, (std::vector<Plan::Wait>{{0, plan.ticks}, {2, plan.ticks}, {3, plan.ticks}}));
}

TEST(StagedPlan, WhoOnlyTradesWeavesWithAllOthersOrNobodyDoes) {
  const Schedule two_pairs{.name = "two pairs",
                           .collective = Collective::kAllToAll,
                           .ranks = 4,
                           .chunks = 1,
                           .steps = {{{kCopy, 0, 0, 1}, {kCopy, 0, 1, 0}, {kCopy, 0, 2, 3}, {kCopy, 0, 3, 2}}}};
  const Schedule one_pair{
      .name = "one pair", .ranks = 3, .chunks = 1, .steps = {{{kReduce, 0, 0, 1}, {kReduce, 0, 1, 0}}}};
  const Schedule there_and_back{
      .name = "there and back", .ranks = 2, .chunks = 1, .steps = {{{kReduce, 0, 1, 0}}, {{kCopy, 0, 0, 1}}}};
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_TRUE(make_staged_plan(two_pairs, rank).weaves);
    EXPECT_FALSE(make_staged_plan(one_pair, rank).weaves) << "rank 2 takes a slot for every piece";
    EXPECT_FALSE(make_staged_plan(there_and_back, rank).weaves);
  }
}

TEST(StagedPlan, WhatWritesStandsInTheOrderOfWhatReadsThere) {
  // Chunk 1 of rank 0 trades places with chunk 0 of rank 1, chunk 2 with chunk 3.
  const Schedule schedule{.name = "crosswise",
                          .ranks = 2,
                          .chunks = 4,
                          .steps = {{{kReduce, 1, 0, 1}, {kReduce, 3, 1, 0}, {kReduce, 0, 1, 0}, {kReduce, 2, 0, 1}}}};
  const Plan plan = make_staged_plan(schedule, 0);
  EXPECT_TRUE(plan.weaves);
  EXPECT_EQ(describe(plan),
            "0 after | 2: in0 -> stage0.0>1.0.3 | 1: in0 -> stage0.0>1.0.0\n"
            "1 after 1>=1 | 3: in0 stage1.0>0.0.2 -> out0 ! | 0: in0 stage1.0>0.0.1 -> out0 !\n"
            "2 end after 1>=2, turning after");
}

TEST(StagedPlan, WhatIsStagedIsTakenBackUnlessItGoesWhereItsWriterHasRead) {
  const Schedule one_way{.name = "one way", .ranks = 2, .chunks = 1, .steps = {{{kReduce, 0, 1, 0}}}};
  EXPECT_TRUE(make_staged_plan(one_way, 1).steps.front().moves.front().takes_back);
  EXPECT_FALSE(make_staged_plan(one_way, 0).steps.front().moves.front().takes_back) << "its own output";
  for (const Plan::Step& step : make_staged_plan(find_algorithm("naive").build({.ranks = 2}), 0).steps) {
    for (const Plan::Move& move : step.moves) EXPECT_FALSE(move.takes_back) << "two that trade";
  }
  // Every rank of a direct exchange trades contributions with the others, and stages its sum for all of them.
  const Plan direct = make_staged_plan(find_algorithm("direct").build({.ranks = 3}), 0);
  for (const Plan::Move& move : direct.steps.at(0).moves) EXPECT_FALSE(move.takes_back);
  EXPECT_TRUE(direct.steps.at(1).moves.front().takes_back);
}

/// Half a buffer a piece is the most that lets one be read while the next is written.
TEST(StagedPlan, WhatWeavesHasTwoPiecesUnlessItIsSmall) {
  const Plan exchange = make_staged_plan(find_algorithm("naive").build({.ranks = 2}), 0);
  ASSERT_TRUE(exchange.weaves);
  constexpr std::size_t kKib = 1024;
  EXPECT_EQ(exchange.slice_bytes(64 * kKib), 256 * kKib);
  EXPECT_EQ(exchange.slice_bytes(128 * kKib), 64 * kKib);
  EXPECT_EQ(exchange.slice_bytes(128 * kKib + 64), 64 * kKib + 64) << "whole lines, and no third piece";
  EXPECT_EQ(exchange.slice_bytes(256 * kKib), 128 * kKib);
  EXPECT_EQ(exchange.slice_bytes(4096 * kKib), 256 * kKib);
  const Plan direct = make_staged_plan(find_algorithm("direct").build({.ranks = 2}), 0);
  ASSERT_FALSE(direct.weaves);
  EXPECT_EQ(direct.slice_bytes(128 * kKib), 128 * kKib) << "of two chunks each";
  EXPECT_EQ(direct.slice_bytes(4096 * kKib), 128 * kKib);
}

}  // namespace lockstep
