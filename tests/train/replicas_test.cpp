// DataParallel under `lockstep run`: processes of their own, as users have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
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

class Replicas : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Replicas, testing::Values(1, 2, 4));

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

#ifdef LOCKSTEP_EXAMPLES
/// What an example prints on `ranks` ranks.
std::string output_of(const std::string& example, int ranks) {
  Command command({LOCKSTEP_PROGRAM, "run", "-n", std::to_string(ranks), LOCKSTEP_EXAMPLES + example});
  EXPECT_EQ(command.wait(), 0) << command.output() << command.errors();
  return command.output();
}

TEST(Example, MlpLearnsAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto losses = values_after(" loss ", output_of("train_mlp", ranks));
    ASSERT_EQ(losses.size(), 5u);
    EXPECT_LT(losses.back(), 0.3);
  }
}

TEST(Example, MirroredLearnsAloneAndInThreads) {
  for (const std::string replicas : {"1", "2"}) {
    Command command({LOCKSTEP_EXAMPLES + std::string("mirrored"), replicas});
    ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
    EXPECT_LT(values_after(" loss ", command.output()).back(), 0.3);
    EXPECT_GT(values_after("accuracy ", command.output()).back(), 0.9);
  }
}

TEST(Example, MixedPrecisionLearnsAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("mixed_precision", ranks);
    EXPECT_GT(values_after(" accuracy ", output).back(), 0.9) << output;
    EXPECT_LT(values_after(" loss ", output).back(), 0.3) << output;
  }
}

TEST(Example, BatchNormLearnsTheSameAloneAndOnTwoRanks) {
  std::vector<double> losses;
  for (const int ranks : {1, 2}) {
    const auto output = output_of("batch_norm", ranks);
    EXPECT_GT(values_after(" accuracy ", output).back(), 0.9) << output;
    losses.push_back(values_after(" loss ", output).back());
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-3);
}

TEST(Example, CompressionLearnsWithFewerBytes) {
  const auto output = output_of("compression", 2);
  EXPECT_LT(values_after(" loss ", output).back(), 0.3) << output;
  EXPECT_GT(values_after(" bytes ", output).back(), 5) << output;
}

TEST(Example, OneBitAdamLearnsAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("one_bit_adam", ranks);
    EXPECT_LT(values_after(" loss ", output).back(), 0.3) << output;
    EXPECT_GT(values_after(" bytes ", output).back(), ranks == 1 ? 0 : 3) << output;
  }
}

TEST(Example, SentencesInUnequalSharesLearnTheSameAloneAndOnThreeRanks) {
  std::vector<double> losses;
  for (const int ranks : {1, 3}) {
    const auto output = output_of("sentences", ranks);
    EXPECT_LT(values_after(" loss ", output).back(), 0.3) << output;
    EXPECT_LT(values_after(" padding ", output).back(), 0.15) << output;
    losses.push_back(values_after(" loss ", output).back());
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-3);
}

TEST(Example, LocalSgdLearnsAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("local_sgd", ranks);
    EXPECT_LT(values_after(" loss ", output).back(), 0.3) << output;
    EXPECT_GT(values_after(" bytes ", output).back(), ranks == 1 ? 0 : 7) << output;
  }
}

TEST(Example, UnevenGoesOnUntilTheLastRankHasRunOut) {
  const auto output = output_of("uneven", 3);
  EXPECT_THAT(values_after(": ", output), testing::Each(32)) << "batches of rank 2; rank 0 has 16";
  EXPECT_LT(values_after(" loss ", output).back(), 0.3) << output;
}

TEST(Example, BottleneckSaysWhatLimitsIt) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("bottleneck", ranks);
    EXPECT_THAT(output, testing::ContainsRegex("It is (compute|memory)-bound: ")) << output;
    const auto efficiency = values_after("against one rank: ", output);
    ASSERT_EQ(efficiency.size(), 1u) << output;
    EXPECT_GT(efficiency.front(), 0) << output;
    EXPECT_LE(efficiency.front(), 100) << output;
    if (ranks == 1) continue;
    EXPECT_THAT(output, testing::HasSubstr("bucket_bytes = kAuto: buckets of ")) << output;
  }
}

TEST(Example, GanFindsTheWholeCircleAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("gan", ranks);
    EXPECT_NEAR(values_after(" radius ", output).back(), 1, 0.15) << output;
    EXPECT_NEAR(values_after(" spread ", output).back(), 1, 0.15) << output;
  }
}
#endif

}  // namespace
}  // namespace lockstep
