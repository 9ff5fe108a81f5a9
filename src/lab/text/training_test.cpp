#include "lab/text/training.h"

#include "lab/text/test_text.h"
#include "lab/together.h"

#include <gmock/gmock.h>
#include <lockstep/world.h>

#include <algorithm>
#include <mutex>

namespace lockstep::lab {

using testing::HasSubstr;

class Training : public TextTest {
 protected:
  /// The models of `ranks` ranks after a training.
  std::vector<TextOutcome> train(int ranks, const std::vector<std::string>& more = {}) const {
    std::vector<TextOutcome> outcomes(static_cast<std::size_t>(ranks));
    run_threads(ranks, [&](World& world) {
      TextTask task = prepare_text(arguments(more));
      make_folder(task.options.output);
      TrainingTrace trace(world.rank());
      outcomes.at(static_cast<std::size_t>(world.rank())) = train_text(world, task, trace, nullptr);
    });
    return outcomes;
  }

  static void expect_same_bits(const TextOutcome& a, const TextOutcome& b) {
    const auto left = a.model->named_parameters(), right = b.model->named_parameters();
    for (const auto& parameter : left) {
      EXPECT_TRUE(torch::equal(parameter.value(), right[parameter.key()])) << parameter.key();
    }
  }
  static double distance(const TextOutcome& a, const TextOutcome& b) {
    double largest = 0;
    const auto left = a.model->parameters(), right = b.model->parameters();
    for (std::size_t i = 0; i < left.size(); ++i) {
      largest = std::max(largest, (left[i] - right[i]).abs().max().item<double>());
    }
    return largest;
  }
};

TEST_F(Training, DependsOnTheGlobalBatchAndNotOnTheNumberOfRanks) {
  const auto alone = train(1);
  for (const int ranks : {2, 3, 4}) {  // 6 windows: even, even and ragged shares
    const auto outcomes = train(ranks);
    EXPECT_NEAR(outcomes[0].validation_loss, alone[0].validation_loss, 1e-4) << ranks << " ranks";
    EXPECT_LT(distance(outcomes[0], alone[0]), 1e-3) << ranks << " ranks";  // AdamW moves a weight by 2e-3 an iteration
    for (const auto& outcome : outcomes) expect_same_bits(outcome, outcomes[0]);
  }
}

TEST_F(Training, RanksWithoutAShareTrainAlong) {
  const auto outcomes = train(3, {"--batch", "2"});
  EXPECT_LT(distance(outcomes[0], train(1, {"--batch", "2"})[0]), 1e-3);
  expect_same_bits(outcomes[0], outcomes[2]);
}

TEST_F(Training, OtherSeedsMakeOtherModels) { EXPECT_GT(distance(train(1)[0], train(1, {"--seed", "1"})[0]), 1e-3); }

TEST_F(Training, Learns) {
  const auto outcome = train(2, {"--iterations", "200", "--learning-rate", "1e-2"})[0];
  EXPECT_LT(outcome.validation_loss, 1.0);  // it begins at log(28) = 3.3
  EXPECT_GT(outcome.seconds, 0);
}

TEST_F(Training, CountsTheMemoryOfEachKind) {
  for (const TextOutcome& outcome : train(2)) {
    ASSERT_EQ(outcome.memory.size(), 3U);
    const auto bytes = 4 * static_cast<std::uint64_t>(parameter_count(outcome.model->size()));
    EXPECT_EQ(outcome.memory[0].kind, "parameters");
    EXPECT_EQ(outcome.memory[0].measured_bytes, bytes);
    EXPECT_EQ(outcome.memory[1].kind, "gradients");
    EXPECT_EQ(outcome.memory[1].measured_bytes, bytes);
    EXPECT_EQ(outcome.memory[2].kind, "optimizer state");
    EXPECT_EQ(outcome.memory[2].measured_bytes, 2 * bytes) << "two tensors of AdamW";
    for (const MemoryRecord& kind : outcome.memory) EXPECT_EQ(kind.predicted_bytes, kind.measured_bytes) << kind.kind;
  }
}

TEST_F(Training, ResumedIsAsIfItHadNeverStopped) {
  const std::string checkpoint = (folder_ / "out" / "checkpoint.pt").string();
  for (const int ranks : {1, 2}) {
    const auto whole = train(ranks, {"--iterations", "20"});
    train(ranks, {"--iterations", "10", "--decay-iterations", "20"});
    EXPECT_EQ(Checkpoint(checkpoint).iteration(), 10);
    const auto resumed = train(ranks, {"--iterations", "20", "--resume", checkpoint});
    expect_same_bits(resumed[0], whole[0]);
    EXPECT_EQ(Checkpoint(checkpoint).iteration(), 20);
  }
}

TEST_F(Training, ResumedDropsTheSame) {
  const std::string checkpoint = (folder_ / "out" / "checkpoint.pt").string();
  const auto whole = train(1, {"--dropout", "0.3", "--iterations", "6"});
  train(1, {"--dropout", "0.3", "--iterations", "3", "--decay-iterations", "6"});
  expect_same_bits(train(1, {"--iterations", "6", "--resume", checkpoint})[0], whole[0]);
}

TEST_F(Training, ACheckpointCanBeResumedOnAnotherNumberOfRanks) {
  const std::string checkpoint = (folder_ / "out" / "checkpoint.pt").string();
  const auto whole = train(1, {"--iterations", "8"});
  train(1, {"--iterations", "4", "--decay-iterations", "8"});
  EXPECT_LT(distance(train(3, {"--iterations", "8", "--resume", checkpoint})[2], whole[0]), 1e-3);
}

TEST_F(Training, AResumedRunKeepsItsModelAndTakesOtherSettings) {
  const std::string checkpoint = (folder_ / "out" / "checkpoint.pt").string();
  train(1);
  const auto refused = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--resume", checkpoint});
    return refusal_of([&] { prepare_text(flags); });
  };
  EXPECT_THAT(refused({"--iterations", "9", "--width", "32"}), HasSubstr("--width 16, not 32"));
  EXPECT_THAT(refused({"--iterations", "9", "--tokens", "bytes"}), HasSubstr("--tokens chars, not bytes"));
  EXPECT_THAT(refused({}), HasSubstr("has 8 iterations already"));
  const TextTask task =
      prepare_text({"--resume", checkpoint, "--iterations", "9", "--batch", "3", "--out", (folder_ / "out").string()});
  EXPECT_EQ(task.options.settings.batch, 3);
  EXPECT_EQ(task.options.settings.model.width, 16);
  EXPECT_THAT(task.options.settings.data, testing::ElementsAre((folder_ / "text.txt").string()));
}

TEST_F(Training, SavesOnTheWay) {
  // The last save is of iteration 8: an earlier one shows in a run that cannot finish.
  EXPECT_THROW(train(1, {"--checkpoint-every", "1", "--learning-rate", "1e30", "--clip", "0"}), Error);
  EXPECT_GE(Checkpoint(folder_ / "out" / "checkpoint.pt").iteration(), 1);
}

TEST_F(Training, ThatDivergesSaysSoOnceAndStops) {
  std::mutex mutex;
  std::vector<std::string> ends;
  run_threads(2, [&](World& world) {
    TextTask task = prepare_text(arguments({"--learning-rate", "1e30", "--clip", "0"}));
    TrainingTrace trace(world.rank());
    std::string end = "trained";
    try {
      train_text(world, task, trace, nullptr);
    } catch (const std::exception& error) {
      end = error.what();
    }
    const std::lock_guard lock(mutex);
    ends.push_back(end);
  });
  EXPECT_THAT(ends, testing::UnorderedElementsAre(HasSubstr("try a smaller --learning-rate"),
                                                  "another rank failed and says why"));
}

TEST_F(Training, ACheckpointThatCannotBeWrittenIsAnError) {
  std::filesystem::create_directories(folder_ / "out" / "checkpoint.pt" / "in the way");
  try {
    train(1);
    FAIL() << "saved over a folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), HasSubstr("checkpoint.pt"));
  }
}

}  // namespace lockstep::lab
