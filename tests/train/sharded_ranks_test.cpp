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
using testing::Gt;
using testing::HasSubstr;
using testing::Le;
using testing::Matcher;
using testing::SizeIs;
using testing_support::Command;
using testing_support::last_value;
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

struct Hosts {
  const char* name;
  int ranks;
  const char* host_of;
};
using HostCase = std::tuple<std::string, Hosts>;
class ShardedWithinHosts : public testing::TestWithParam<HostCase> {};
std::string host_case_name(const testing::TestParamInfo<HostCase>& test) {
  return std::get<0>(test.param) + "_" + std::get<1>(test.param).name;
}
INSTANTIATE_TEST_SUITE_P(OfTwoRanks, ShardedWithinHosts,
                         testing::Combine(testing::Values("shm", "tcp"),
                                          testing::Values(Hosts{"neighbours", 4, "RANK / 2"},
                                                          Hosts{"by_turns", 4, "RANK % 2"})),
                         host_case_name);
INSTANTIATE_TEST_SUITE_P(OneOrOfOneRank, ShardedWithinHosts,
                         testing::Combine(testing::Values("tcp"),
                                          testing::Values(Hosts{"alone", 1, "0"}, Hosts{"two_on_one", 2, "0"},
                                                          Hosts{"two", 2, "RANK"}, Hosts{"three_on_one", 3, "0"},
                                                          Hosts{"three", 3, "RANK"})),
                         host_case_name);

TEST_P(ShardedWithinHosts, TrainAsOneProcessDoesAtEveryStage) {
  const auto& [transport, hosts] = GetParam();
  Command command(on_hosts(transport, hosts.ranks, hosts.host_of, "123 host"));
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  EXPECT_THAT(values_after("difference ", command.output()), AllOf(SizeIs(3 * hosts.ranks), Each(Le(1e-5))));
  EXPECT_THAT(command.output(), Not(HasSubstr("bits differ")));
  // Neighbours first, then the pairs of them, and halves of halves: the canonical order, and no rounding in between.
  if (std::string(hosts.name) != "by_turns") {
    EXPECT_THAT(command.output(), HasSubstr("over the world the same"));
    EXPECT_THAT(command.output(), Not(HasSubstr("over the world other")));
  }
}

TEST(ShardedOnHosts, TrainElsewhereWhenTheyHearNothingOfEachOther) {
  for (const auto& hosts : {Hosts{"neighbours", 4, "RANK / 2"}, Hosts{"two", 2, "RANK"}, Hosts{"two_on_one", 2, "0"}}) {
    const bool one = std::string(hosts.name) == "two_on_one";  // where there are no others
    Command command(on_hosts("shm", hosts.ranks, hosts.host_of, "123 apart"));
    ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
    const auto differences = values_after("difference ", command.output());
    EXPECT_THAT(differences, SizeIs(3 * hosts.ranks)) << hosts.name;
    EXPECT_THAT(differences, Each(one ? Matcher<double>(Le(1e-5)) : Gt(1e-3))) << hosts.name;
    EXPECT_EQ(command.output().find("bits differ") == std::string::npos, one) << hosts.name;
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

/// What ./train_sharded prints on two ranks at stage 3.
std::string sharded_example(const std::vector<std::string>& words) {
  std::vector<std::string> command = {LOCKSTEP_PROGRAM, "run", "-n", "2", LOCKSTEP_SHARDED_EXAMPLE, "3"};
  command.insert(command.end(), words.begin(), words.end());
  Command run(command);
  EXPECT_EQ(run.wait(), 0) << run.output() << run.errors();
  return run.output();
}

TEST(ShardedExample, GathersFewerBytesInBfloat16AndInt8) {
  const std::string whole = sharded_example({});
  const double bytes = last_value(" of ", whole);
  EXPECT_GT(bytes, 0) << whole;
  struct Gathered {
    const char* as;
    double part, most_loss;
  };
  for (const auto& [as, part, most_loss] : {Gathered{"bf16", 0.5, 0.3}, Gathered{"int8", 0.27, 0.4}}) {
    const std::string output = sharded_example({as});
    EXPECT_NEAR(last_value(" of ", output), part * bytes, 0.03 * bytes) << whole << output;
    EXPECT_LT(last_value(" loss ", output), most_loss) << output;
  }
}

TEST(ShardedExample, GathersBlocksOnceWhereTheyAreKept) {
  const std::string freed = sharded_example({}), kept = sharded_example({"keep"});
  EXPECT_THAT(values_after("gathers ", freed), AllOf(SizeIs(5), Each(5)));
  EXPECT_THAT(values_after("gathers ", kept), AllOf(SizeIs(5), Each(3)));
  EXPECT_EQ(values_after(" loss ", kept), values_after(" loss ", freed)) << "and the numbers are the same";
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
