// The examples, as users start them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"
#include "tests/train/values_after.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;
using testing::SizeIs;
using testing_support::Command;
using testing_support::last_value;
using testing_support::values_after;

using Words = std::vector<std::string>;

std::vector<std::string> example_command(const std::string& example, int ranks, const Words& words) {
  Words command = {LOCKSTEP_PROGRAM, "run", "-n", std::to_string(ranks), LOCKSTEP_EXAMPLES + example};
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

/// What an example prints on `ranks` ranks.
std::string output_of(const std::string& example, int ranks, const Words& words = {}) {
  Command command(example_command(example, ranks, words));
  EXPECT_EQ(command.wait(), 0) << command.output() << command.errors();
  return command.output();
}

/// Runs an example alone and on two ranks, whose parameters must be the same at any time: both learn, and the same, to
/// `tolerance`. Returns what they print.
Words learn_alike(const std::string& example, double most_loss, double tolerance, const Words& words = {}) {
  Words outputs;
  std::vector<double> losses;
  for (const int ranks : {1, 2}) {
    outputs.push_back(output_of(example, ranks, words));
    losses.push_back(last_value(" loss ", outputs.back()));
    EXPECT_LT(losses.back(), most_loss) << outputs.back();
    EXPECT_THAT(values_after(" apart ", outputs.back()), Each(0)) << outputs.back();
    EXPECT_FALSE(values_after(" apart ", outputs.back()).empty()) << outputs.back();
  }
  EXPECT_NEAR(losses[0], losses[1], tolerance) << outputs[0] << outputs[1];
  return outputs;
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
    EXPECT_LT(last_value(" loss ", command.output()), 0.3);
    EXPECT_GT(last_value("accuracy ", command.output()), 0.9);
  }
}

TEST(Example, MixedPrecisionLearnsAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("mixed_precision", ranks);
    EXPECT_GT(last_value(" accuracy ", output), 0.9) << output;
    EXPECT_LT(last_value(" loss ", output), 0.3) << output;
  }
}

TEST(Example, BatchNormLearnsTheSameAloneAndOnTwoRanks) {
  std::vector<double> losses;
  for (const int ranks : {1, 2}) {
    const auto output = output_of("batch_norm", ranks);
    EXPECT_GT(last_value(" accuracy ", output), 0.9) << output;
    losses.push_back(last_value(" loss ", output));
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-3);
}

TEST(Example, BatchNormStatisticsAreBroughtTogether) {
  for (const std::string how : {"mean", "broadcast"}) {
    const auto output = output_of("batch_norm", 2, {how});
    EXPECT_GT(last_value(" accuracy ", output), 0.9) << output;
    EXPECT_THAT(values_after(" apart ", output), AllOf(SizeIs(3), Each(0))) << output;
  }
  EXPECT_GT(last_value(" apart ", output_of("batch_norm", 2, {"once"})), 0) << "else the others show nothing";
}

TEST(Example, CompressionLearnsWithFewerBytes) {
  const auto output = output_of("compression", 2);
  EXPECT_LT(last_value(" loss ", output), 0.3) << output;
  EXPECT_GT(last_value(" bytes ", output), 5) << output;
}

struct Compressed {
  const char* hook;
  double least_ratio;  ///< by how much fewer the bytes are on two ranks
};

TEST(Example, CompressionLearnsWithEachHook) {
  for (const auto& [hook, least_ratio] :
       {Compressed{"bfloat16", 1.9}, Compressed{"float16", 1.9}, Compressed{"int8", 3.5}, Compressed{"sign", 15},
        Compressed{"qsgd", 7}, Compressed{"top_k", 9}, Compressed{"threshold", 1.5},
        Compressed{"adaptive_threshold", 7}, Compressed{"random_k", 3.9}, Compressed{"deep_gradient", 10}}) {
    const auto output = output_of("compression", 2, {hook});
    EXPECT_LT(last_value(" loss ", output), 0.3) << output;
    EXPECT_GT(last_value(" bytes ", output), least_ratio) << output;
    EXPECT_THAT(values_after(" apart ", output), AllOf(SizeIs(5), Each(0))) << output;
    EXPECT_THAT(output, HasSubstr(hook));
  }
}

TEST(Example, OneBitAdamLearnsAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("one_bit_adam", ranks);
    EXPECT_LT(last_value(" loss ", output), 0.3) << output;
    EXPECT_GT(last_value(" bytes ", output), ranks == 1 ? 0 : 3) << output;
  }
}

TEST(Example, SentencesInUnequalSharesLearnTheSameAloneAndOnThreeRanks) {
  std::vector<double> losses;
  for (const int ranks : {1, 3}) {
    const auto output = output_of("sentences", ranks);
    EXPECT_LT(last_value(" loss ", output), 0.3) << output;
    EXPECT_LT(last_value(" padding ", output), 0.15) << output;
    losses.push_back(last_value(" loss ", output));
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-3);
}

TEST(Example, SentencesInSharesByHandLearnTheSameAsAlone) {
  const auto output = output_of("sentences", 3, {"2", "1", "1"});
  EXPECT_THAT(values_after("share of ", output), AllOf(SizeIs(6), Each(0.5))) << output;
  EXPECT_NEAR(last_value(" loss ", output), last_value(" loss ", output_of("sentences", 1)), 1e-3) << output;
}

TEST(Example, LocalSgdLearnsAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("local_sgd", ranks);
    EXPECT_LT(last_value(" loss ", output), 0.3) << output;
    EXPECT_GT(last_value(" bytes ", output), ranks == 1 ? 0 : 7) << output;
    EXPECT_THAT(values_after(" apart ", output), AllOf(SizeIs(5), Each(0))) << output;
  }
}

TEST(Example, DilocoLearnsWithFewerBytes) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("local_sgd", ranks, {"diloco"});
    EXPECT_LT(last_value(" loss ", output), 0.3) << output;
    EXPECT_GT(last_value(" bytes ", output), ranks == 1 ? 0 : 15) << output;
    EXPECT_THAT(values_after(" apart ", output), AllOf(SizeIs(5), Each(0))) << output;
  }
}

TEST(Example, UnevenGoesOnUntilTheLastRankHasRunOut) {
  const auto output = output_of("uneven", 3);
  EXPECT_THAT(values_after(": ", output), Each(32)) << "batches of rank 2; rank 0 has 16";
  EXPECT_LT(last_value(" loss ", output), 0.3) << output;
}

TEST(Example, UnevenStopsAllRanksWhereThatIsAskedFor) {
  Command command(example_command("uneven", 2, {"stop"}));
  EXPECT_NE(command.wait(), 0);
  EXPECT_THAT(command.errors(), HasSubstr("Rank 0 has no batch any more, and others have some")) << command.errors();
  EXPECT_THAT(command.output(), Not(HasSubstr("epoch 0")));
}

TEST(Example, BottleneckSaysWhatLimitsIt) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("bottleneck", ranks);
    EXPECT_THAT(output, ContainsRegex("It is (compute|memory)-bound: ")) << output;
    const auto efficiency = values_after("against one rank: ", output);
    ASSERT_EQ(efficiency.size(), 1u) << output;
    EXPECT_GT(efficiency.front(), 0) << output;
    EXPECT_LE(efficiency.front(), 100) << output;
    if (ranks == 1) continue;
    EXPECT_THAT(output, HasSubstr("bucket_bytes = kAuto: buckets of ")) << output;
  }
}

TEST(Example, GanFindsTheWholeCircleAloneAndOnTwoRanks) {
  for (const int ranks : {1, 2}) {
    const auto output = output_of("gan", ranks);
    EXPECT_NEAR(last_value(" radius ", output), 1, 0.15) << output;
    EXPECT_NEAR(last_value(" spread ", output), 1, 0.15) << output;
  }
}

TEST(Example, AnyModelLearnsAScriptAndAListOfTensors) {
  for (const auto& output : learn_alike("any_model", 0.2, 1e-3)) {
    EXPECT_THAT(values_after(" loss ", output), ElementsAre(Lt(0.2), Lt(0.2))) << output;
    EXPECT_NEAR(last_value("radius ", output), 0.8, 0.1) << output;
  }
}

TEST(Example, ExpertsThatOnlySomeRanksUseLearnAsAlone) {
  for (const auto& output : learn_alike("experts", 0.3, 1e-3)) {
    EXPECT_THAT(output, HasSubstr("No rank's backward reached 4 parameters: outside.0.weight, outside.0.bias, "
                                  "outside.2.weight and 1 more. Freeze what is not to be trained"));
  }
  EXPECT_LT(last_value("a rank used ", output_of("experts", 2)), 3.8) << "else the others show nothing";
}

TEST(Example, AutocastComputesInBfloat16AndKeepsFloat32) {
  for (const auto& output : learn_alike("autocast", 0.3, 1e-2)) {
    EXPECT_THAT(output, HasSubstr("scores of BFloat16, gradients of Float\n"));
  }
}

TEST(Example, ClosuresDecideAlikeOnAllRanks) { learn_alike("closures", 0.11, 1e-6); }

TEST(Example, RecomputeKeepsLessAndLearnsTheSame) {
  const auto outputs = learn_alike("recompute", 0.2, 1e-3);
  const auto keeping = output_of("recompute", 2, {"keep"});
  EXPECT_NEAR(last_value(" loss ", keeping), last_value(" loss ", outputs[1]), 1e-4);
  EXPECT_LT(last_value("backward: ", outputs[1]), last_value("backward: ", keeping) / 5);
}

TEST(Example, RecomputeOfOneBlockAppliedFourTimesIsAStaticGraph) {
  const auto outputs = learn_alike("recompute", 0.2, 1e-3, {"tied"});
  const auto keeping = output_of("recompute", 2, {"tied", "keep"});
  EXPECT_NEAR(last_value(" loss ", keeping), last_value(" loss ", outputs[1]), 1e-4);
  EXPECT_LT(last_value("backward: ", outputs[1]), last_value("backward: ", keeping) / 5);
}

TEST(Example, EmbeddingsSendTheRowsThatWereUsed) {
  for (const auto& output : learn_alike("embeddings", 0.1, 1e-3)) {
    EXPECT_LT(last_value("gradient of ", output), last_value("instead of ", output) / 20) << output;
  }
}

TEST(Example, AccumulateLearnsAndCountsEachSampleOnce) {
  for (const auto& output : learn_alike("accumulate", 0.2, 1e-3)) {
    EXPECT_THAT(values_after(" of ", output), AllOf(SizeIs(5), Each(1001))) << output;
    EXPECT_GT(last_value("held out: ", output), 950) << output;
  }
}

TEST(Example, HalfPrecisionPassesOverWhatOverflows) {
  for (const auto& output : learn_alike("half_precision", 0.2, 1e-2)) {
    EXPECT_GT(last_value(" skipped ", output), 0) << output;
    EXPECT_LT(last_value(" scale ", output), 1 << 24) << output;
  }
}

TEST(Example, BadDataIsPassedOverAndLearningGoesOn) {
  for (const auto& output : learn_alike("bad_data", 0.2, 1e-3)) {
    EXPECT_THAT(values_after("passed over batch ", output), SizeIs(5)) << output;
  }
}

TEST(Example, BadDataStopsAllRanksWithTheParameterAndTheRank) {
  Command command(example_command("bad_data", 2, {"stop"}));
  EXPECT_NE(command.wait(), 0);
  EXPECT_THAT(command.errors(),
              ContainsRegex("The gradient of '[02].(weight|bias)' is infinite or not a number on rank [01]"));
  EXPECT_THAT(command.output(), Not(HasSubstr("epoch 1")));
}

class ExchangeExample : public testing_support::TemporaryFolder {};

TEST_F(ExchangeExample, GoesOnWithAnArchiveAndLeavesWhatItLearned) {
  const auto first = output_of("exchange", 2, {folder_.string()});
  EXPECT_LT(last_value("after ", first), last_value("before ", first) - 0.1) << first;
  EXPECT_EQ(last_value("exported ", first), last_value("after ", first)) << first;
  const auto second = output_of("exchange", 1, {folder_.string()});
  EXPECT_NEAR(last_value("before ", second), last_value("after ", first), 1e-5) << second;
  EXPECT_EQ(last_value("exported ", second), last_value("after ", second)) << second;
  EXPECT_LT(last_value("after ", second), last_value("before ", second) - 0.1) << second;
}

TEST(Example, LargeBatchGrowsAndLearnsWithLambAndLars) {
  for (const Words& words : {Words{}, Words{"lars"}}) {
    for (const auto& output : learn_alike("large_batch", 0.3, 1e-2, words)) {
      EXPECT_THAT(values_after("of ", output), ElementsAre(768, 1024, 1024, 1024, 1024)) << output;
      EXPECT_THAT(output, HasSubstr("iteration 160 of "));
    }
  }
}

TEST(Example, LargeBatchFollowsACosineOrSteps) {
  const auto cosine = output_of("large_batch", 2, {"cosine"}), step = output_of("large_batch", 2, {"step"});
  const auto rates = values_after(" rate ", cosine);  // at iteration 32, 64, ... of 160, of which 16 are warm-up
  ASSERT_THAT(rates, SizeIs(5)) << cosine;
  for (std::size_t i = 0; i < 5; ++i) {
    const double progress = (32 * (static_cast<double>(i) + 1) - 1 - 16) / (160 - 16);
    EXPECT_NEAR(rates[i], 0.02 * (1 + std::cos(std::acos(-1) * progress)), 1e-6) << cosine;
  }
  EXPECT_THAT(values_after(" rate ", step), ElementsAre(0.04, 0.04, 0.004, 0.0004, 0.0004)) << step;
  for (const auto& output : {cosine, step}) {
    EXPECT_LT(last_value(" loss ", output), 0.3) << output;
    EXPECT_THAT(values_after(" apart ", output), AllOf(SizeIs(5), Each(0))) << output;
  }
}

}  // namespace
}  // namespace lockstep
