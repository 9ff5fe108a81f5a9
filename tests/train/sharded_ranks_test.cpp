// Sharded under `lockstep run`: processes of their own, over shared memory and over TCP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"
#include "tests/train/values_after.h"

namespace lockstep {
namespace {

using testing::AllOf;
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

/// Ranks of which each counts to the host that `host_of` (arithmetic of a shell) makes of its number.
std::vector<std::string> on_hosts(const std::string& transport, int ranks, const std::string& host_of,
                                  const std::string& arguments) {
  const std::string say = "LOCKSTEP_HOST=host$((" + host_of + ")) exec " + LOCKSTEP_SHARDED_PROGRAM + " " + arguments;
  return {"/usr/bin/env",
          "LOCKSTEP_REDUCTION=canonical",
          "LOCKSTEP_TRANSPORT=" + transport,
          LOCKSTEP_PROGRAM,
          "run",
          "-n",
          std::to_string(ranks),
          "/bin/sh",
          "-c",
          say};
}

using HostCase = std::tuple<std::string, int, std::string>;
class ShardedWithinHosts : public testing::TestWithParam<HostCase> {};
INSTANTIATE_TEST_SUITE_P(Over, ShardedWithinHosts,
                         testing::Combine(testing::Values("shm", "tcp"), testing::Values(1, 2, 3),
                                          testing::Values("RANK / 2", "RANK % 2")),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_stage_" + std::to_string(std::get<1>(test.param)) +
                                  (std::get<2>(test.param) == "RANK / 2" ? "_neighbours" : "_by_turns");
                         });

TEST_P(ShardedWithinHosts, TwoHostsOfTwoRanksTrainAsOneProcessDoes) {
  const auto& [transport, stage, host_of] = GetParam();
  Command command(on_hosts(transport, 4, host_of, std::to_string(stage) + " host"));
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  const auto differences = values_after("difference ", command.output());
  EXPECT_THAT(differences, SizeIs(4));
  EXPECT_THAT(differences, Each(Le(1e-5)));
  EXPECT_THAT(command.output(), Not(HasSubstr("bits differ")));
  // Neighbours first, then the pairs of them, and halves of halves: the canonical order, and no rounding in between.
  if (host_of == "RANK / 2") {
    EXPECT_THAT(command.output(), HasSubstr("over the world the same"));
    EXPECT_THAT(command.output(), Not(HasSubstr("over the world other")));
  }
}

class ShardedCheckpointWithinHosts : public testing_support::TemporaryFolder {};

TEST_F(ShardedCheckpointWithinHosts, IsSavedOnceAndGoesOnOverTheWorld) {
  Command command(on_hosts("shm", 4, "RANK / 2", "2 checkpoint " + folder_.string()));
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  EXPECT_THAT(values_after("share ", command.output()), Each(0.5));
  EXPECT_THAT(values_after("difference ", command.output()), AllOf(SizeIs(8), Each(Le(1e-6)))) << "wholes, then pieces";
}

TEST(ShardedOnHosts, ThatDifferAreRefused) {
  Command command(on_hosts("shm", 3, "RANK / 2", "2 host"));
  EXPECT_NE(command.wait(), 0);
  EXPECT_THAT(command.output() + command.errors(), HasSubstr("host 0 has 2 and host 1 has 1"));
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

TEST(ShardedExample, LearnsWithLambOnAHostWithInt8Gathers) {
  Command command({LOCKSTEP_PROGRAM, "run", "-n", "2", LOCKSTEP_SHARDED_EXAMPLE, "3", "lamb", "host", "int8"});
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  const auto losses = values_after(" loss ", command.output());
  ASSERT_EQ(losses.size(), 5u) << command.output();
  EXPECT_LT(losses.back(), 0.4);
}
#endif

}  // namespace
}  // namespace lockstep
