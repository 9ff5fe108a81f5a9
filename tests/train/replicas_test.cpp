// DataParallel under `lockstep run`: processes of their own, as users have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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

class Replicas : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Replicas, testing::Values(1, 2, 3, 4));

TEST_P(Replicas, ProcessesTrainAsOneDoes) {
  Command command({LOCKSTEP_PROGRAM, "run", "-n", std::to_string(GetParam()), LOCKSTEP_REPLICA_PROGRAM});
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  const auto differences = values_after("difference ", command.output());
  EXPECT_THAT(differences, SizeIs(static_cast<std::size_t>(GetParam())));
  EXPECT_THAT(differences, Each(Le(1e-5)));
  EXPECT_THAT(command.output(), Not(HasSubstr("bits differ")));
  EXPECT_THAT(command.output(), HasSubstr("bits equal"));
}

TEST_P(Replicas, ThreadsOfOneProcessTrainAsProcessesToTheBit) {
  const std::string ranks = std::to_string(GetParam());
  Command processes({LOCKSTEP_PROGRAM, "run", "-n", ranks, LOCKSTEP_MIRRORED_PROGRAM});
  ASSERT_EQ(processes.wait(), 0) << processes.output() << processes.errors();
  // Launched as well, so that both multiply matrices by the same kernels.
  Command threads({LOCKSTEP_PROGRAM, "run", "-n", "1", LOCKSTEP_MIRRORED_PROGRAM, "mirrored", ranks});
  ASSERT_EQ(threads.wait(), 0) << threads.output() << threads.errors();
  EXPECT_THAT(threads.output(), HasSubstr("parameters "));
  EXPECT_THAT(processes.output(), HasSubstr(threads.output()));
}

}  // namespace
}  // namespace lockstep
