// A training of a classifier, on threads: what comes out does not depend on how it is spread.
#include "lab/classifier/training.h"

#include "lab/settings_file.h"
#include "lab/sst2/task.h"
#include "lab/sst2/test_sst2.h"
#include "lab/together.h"

#include <gmock/gmock.h>
#include <lockstep/world.h>
#include <sys/stat.h>

#include <cmath>
#include <optional>

namespace lockstep::lab {

using testing::HasSubstr;

class Sst2Training : public Sst2Test {
 protected:
  struct Trained {
    ClassifierOutcome outcome;
    std::vector<IterationRecord> records;
    std::vector<torch::Tensor> parameters;  ///< whole
  };

  /// What rank 0 has of a training of `ranks` ranks.
  Trained train(int ranks, const std::vector<std::string>& more = {}) const {
    Trained trained;
    run_threads(ranks, [&](World& world) {
      at::set_num_threads(1);
      Sst2Task task(parse_sst2(arguments(more)));
      ClassifierTraining training(world, task);
      TrainingTrace trace(world.rank());
      std::optional<Journal> journal;
      if (world.rank() == 0) {
        make_folder(task.options().output);
        write_settings(task.options().output, task.settings());
        RunRecord run;
        run.iterations = training.updates();
        OutputOptions quiet = task.options().output;
        quiet.every = 1'000'000;
        journal.emplace(quiet, run);
      }
      const ClassifierOutcome outcome = training.run(trace, journal ? &*journal : nullptr);
      const auto whole = training.whole();
      if (world.rank() != 0) return;
      trained = {outcome, journal->records(), {}};
      for (const auto& parameter : training.model().parameters())
        trained.parameters.push_back(parameter.detach().clone());
    });
    return trained;
  }

  /// Of two trainings' parameters, relative to how far the first one came from the weights that both began with. The
  /// bias of keys is left out: a softmax does not see it, so its gradient is rounding, which Adam scales up.
  double difference(const Trained& a, const Trained& b) const {
    DistilBert begun(config());
    load_weights(*begun, folder_ / "weights" / "model.safetensors");
    const auto start = begun->named_parameters();
    double apart = 0, moved = 0;
    for (std::size_t i = 0; i < start.size(); ++i) {
      if (start[i].key().find("k_lin.bias") != std::string::npos) continue;
      apart += (a.parameters[i] - b.parameters[i]).square().sum().item<double>();
      moved += (a.parameters[i] - start[i].value()).square().sum().item<double>();
    }
    return std::sqrt(apart / moved);
  }
};

class Sst2Spread : public Sst2Training, public testing::WithParamInterface<int> {};

TEST_P(Sst2Spread, IsTheSameOnAnyNumberOfRanks) {
  const std::vector<std::string> stage = {"--stage", std::to_string(GetParam())};
  const Trained alone = train(1);
  for (const int ranks : {1, 2, 3, 4}) {
    const Trained spread = train(ranks, stage);
    EXPECT_LT(difference(alone, spread), 1e-3) << ranks << " ranks";
    ASSERT_EQ(alone.records.size(), spread.records.size());
    for (std::size_t i = 0; i < alone.records.size(); ++i) {
      EXPECT_NEAR(alone.records[i].loss, spread.records[i].loss, 1e-5) << ranks << " ranks, iteration " << i + 1;
      EXPECT_EQ(alone.records[i].training_accuracy, spread.records[i].training_accuracy);
    }
    EXPECT_EQ(alone.outcome.best.correct, spread.outcome.best.correct);
    EXPECT_EQ(spread.outcome.best.examples, 21) << "each sentence is judged once";
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, Sst2Spread, testing::Values(0, 1, 2, 3), testing::PrintToStringParamName());

TEST_F(Sst2Training, OfOtherWeightsIsSeenByThatMeasure) {
  EXPECT_GT(difference(train(1), train(2, {"--seed", "5"})), 1e-2);
}

TEST_F(Sst2Training, InPartsIsTheSameOnAnyNumberOfRanks) {
  const Trained parts = train(1, {"--accumulate", "3"});
  EXPECT_LT(difference(parts, train(3, {"--accumulate", "3"})), 1e-3);
  EXPECT_LT(difference(parts, train(2, {"--accumulate", "3", "--stage", "3"})), 1e-3);
}

TEST_F(Sst2Training, GoesOnWithTheSameBits) {
  const std::filesystem::path out = folder_ / "out", elsewhere = folder_ / "elsewhere";
  const Trained at_once = train(2, {"--checkpoint-every", "6", "--eval-every", "4", "--stage", "2"});
  std::filesystem::remove_all(out / "checkpoints" / "iteration-00000010");  // as if it had been killed before
  const Trained resumed = train(2, {"--resume", out.string(), "--out", elsewhere.string()});
  ASSERT_EQ(resumed.records.front().iteration, 7);
  EXPECT_EQ(resumed.outcome.best.correct, at_once.outcome.best.correct);
  EXPECT_EQ(resumed.outcome.best_iteration, at_once.outcome.best_iteration);
  EXPECT_TRUE(resumed.records[1].validation_loss.has_value()) << "in iteration 8, as every fourth";
  EXPECT_TRUE(std::filesystem::exists(elsewhere / "checkpoints" / "iteration-00000010"));
  EXPECT_TRUE(std::filesystem::exists(elsewhere / "best" / "model.safetensors"));
  for (std::size_t i = 0; i < at_once.parameters.size(); ++i) {
    EXPECT_TRUE(torch::equal(at_once.parameters[i], resumed.parameters[i]));
  }
}

TEST_F(Sst2Training, GoesOnAtAnotherStageOnOtherRanks) {
  const std::filesystem::path out = folder_ / "out", elsewhere = folder_ / "elsewhere";
  const Trained at_once = train(2, {"--checkpoint-every", "6"});
  std::filesystem::remove_all(out / "checkpoints" / "iteration-00000010");
  EXPECT_LT(difference(at_once, train(3, {"--resume", out.string(), "--out", elsewhere.string(), "--stage", "3"})),
            1e-3);
}

TEST_F(Sst2Training, KeepsTheBestAndStopsWhenItGetsNoBetter) {
  const Trained trained =
      train(2, {"--iterations", "400", "--eval-every", "10", "--patience", "8", "--learning-rate", "5e-3"});
  EXPECT_LT(trained.outcome.iterations, 400);
  EXPECT_EQ(trained.outcome.iterations, trained.outcome.best_iteration + 80);
  EXPECT_EQ(trained.outcome.best.correct, 21) << "the last word says it all";
  // What was kept is that model.
  run_threads(1, [&](World& world) {
    Sst2Task task(parse_sst2(arguments({"--weights", (folder_ / "out" / "best").string(), "--iterations", "1",
                                        "--learning-rate", "1e-30", "--weight-decay", "0"})));
    ClassifierTraining training(world, task);
    TrainingTrace trace(0);
    EXPECT_EQ(training.run(trace, nullptr).best.correct, 21);
  });
}

TEST_F(Sst2Training, InBfloat16LearnsTheSame) {
  const Trained trained = train(2, {"--iterations", "150", "--bf16"});
  EXPECT_EQ(trained.outcome.best.correct, 21);
  EXPECT_GT(difference(train(1), train(1, {"--bf16"})), 1e-4) << "it is another arithmetic";
}

TEST_F(Sst2Training, NamesWhatDoesNotFit) {
  const auto refused = [&](const std::vector<std::string>& more) {
    return refusal_of([&] {
      run_threads(1, [&](World& world) {
        Sst2Task task(parse_sst2(arguments(more)));
        const ClassifierTraining training(world, task);
      });
    });
  };
  EXPECT_THAT(refused({"--resume", (folder_ / "none").string()}), HasSubstr("is not the folder of a run"));
  make_folder({.out = (folder_ / "out").string()});
  write_settings({.out = (folder_ / "out").string()}, Sst2Settings{.data = (folder_ / "data").string()});
  EXPECT_THAT(refused({"--resume", (folder_ / "out").string()}), HasSubstr("has no checkpoint to go on from"));
  train(1, {"--iterations", "4", "--checkpoint-every", "4"});
  EXPECT_THAT(refused({"--resume", (folder_ / "out").string(), "--iterations", "4"}),
              HasSubstr("has 4 iterations already, and 4 are asked for"));
  EXPECT_THAT(refused({}), HasSubstr("has checkpoints of an earlier run: go on with it by --resume"));
}

TEST_F(Sst2Training, NamesWhereARunThatGoesOnCannotBeKept) {
  const std::filesystem::path out = folder_ / "out", elsewhere = folder_ / "elsewhere";
  train(1, {"--iterations", "4", "--checkpoint-every", "2"});
  const auto refused = [&](const std::string& other) {
    return refusal_of([&] {
      run_threads(1, [&](World& world) {
        Sst2Task task(parse_sst2(arguments({"--resume", out.string(), "--out", other, "--iterations", "6"})));
        const ClassifierTraining training(world, task);
      });
    });
  };
  EXPECT_THAT(refused("/dev/null/runs"), HasSubstr("--out /dev/null/runs cannot be written"));
  std::filesystem::remove(out / "best" / "config.json");
  ASSERT_EQ(::mkfifo((out / "best" / "config.json").c_str(), 0600), 0);  // which is no file to copy, for root either
  EXPECT_THAT(refused(elsewhere.string()), HasSubstr("best, cannot be copied to " + elsewhere.string()));
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere)) << "no half of it";
}

}  // namespace lockstep::lab
