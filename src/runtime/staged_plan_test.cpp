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
            "1 after 1>=1 | 0: in0 stage1.0 -> stage0.1 out0 !\n"
            "3 end after 1>=3");
  EXPECT_EQ(describe(make_staged_plan(schedule, 1)),
            "0 after | 0: in1 -> stage1.0\n"
            "2 after 0>=2 | 0: stage0.1 -> out1\n"
            "3 end after 0>=2");
  EXPECT_EQ(make_staged_plan(schedule, 0).staging_versions, 2);
}

TEST(StagedPlan, AnExchangeReadsWhatStoodWhenTheStepBegan) {
  const Schedule schedule{
      .name = "exchange", .ranks = 2, .chunks = 1, .steps = {{{kReduce, 0, 0, 1}, {kReduce, 0, 1, 0}}}};
  EXPECT_EQ(describe(make_staged_plan(schedule, 1)),
            "0 after | 0: in1 -> stage1.0\n"
            "1 after 0>=1 | 0: stage0.0 in1 -> out1 !\n"
            "2 end after 0>=2");
}

TEST(StagedPlan, APartialSumThatIsOverwrittenNeverComesHome) {
  const Schedule schedule{.name = "chain and back",
                          .ranks = 3,
                          .chunks = 1,
                          .steps = {{{kReduce, 0, 0, 1}}, {{kReduce, 0, 1, 2}}, {{kCopy, 0, 2, 1}}}};
  EXPECT_EQ(describe(make_staged_plan(schedule, 1)),
            "1 after 0>=1 | 0: stage0.0 in1 -> stage1.1\n"
            "3 after 2>=3 | 0: stage2.1 -> out1\n"
            "4 end after 2>=3");
}

}  // namespace lockstep
