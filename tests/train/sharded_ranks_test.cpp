// Sharded under `lockstep run`: processes of their own, over shared memory and over TCP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/processes/command.h"
#include "tests/train/values_after.h"

namespace lockstep {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;
using testing_support::Command;
using testing_support::values_after;

using Case = std::tuple<std::string, int, int>;
class ShardedRanks : public testing::TestWithParam<Case> {};
std::string case_name(const testing::TestParamInfo<Case>& test) {
  const auto& [transport, stage, ranks] = test.param;
  return transport + "_stage_" + std::to_string(stage) + "_on_" + std::to_string(ranks);
}
INSTANTIATE_TEST_SUITE_P(Over, ShardedRanks,
                         testing::Combine(testing::Values("shm", "tcp"), testing::Values(1, 2, 3),
                                          testing::Values(1, 2, 3, 4)),
                         case_name);

TEST_P(ShardedRanks, ProcessesTrainAsOneDoes) {
  const auto& [transport, stage, ranks] = GetParam();
  Command command({"/usr/bin/env", "LOCKSTEP_TRANSPORT=" + transport, LOCKSTEP_PROGRAM, "run", "-n",
                   std::to_string(ranks), LOCKSTEP_SHARDED_PROGRAM, std::to_string(stage)});
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  const auto differences = values_after("difference ", command.output());
  EXPECT_THAT(differences, SizeIs(static_cast<std::size_t>(ranks)));
  EXPECT_THAT(differences, Each(Le(1e-5)));
  EXPECT_THAT(command.output(), Not(HasSubstr("bits differ")));
  EXPECT_THAT(command.output(), HasSubstr("bits equal"));
}

#ifdef LOCKSTEP_SHARDED_EXAMPLE
TEST(ShardedExample, LearnsAtEveryStageAloneAndOnTwoRanks) {
  for (const char* ranks : {"1", "2"}) {
    for (const char* stage : {"0", "1", "2", "3"}) {
      Command command({LOCKSTEP_PROGRAM, "run", "-n", ranks, LOCKSTEP_SHARDED_EXAMPLE, stage});
      ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
      const auto losses = values_after(" loss ", command.output());
      ASSERT_EQ(losses.size(), 5u) << command.output();
      EXPECT_LT(losses.back(), 0.3);
    }
  }
}
#endif

}  // namespace
}  // namespace lockstep
