#include "lab/digits/task.h"

#include "lab/classifier/training.h"
#include "lab/digits/test_digits.h"

#include <gmock/gmock.h>
#include <lockstep/safetensors.h>
#include <lockstep/world.h>
#include <torch/utils.h>

#include <algorithm>
#include <mutex>

namespace lockstep::lab {

/// Threads share torch's generator: each draws its weights with nobody in between.
class SeededTask : public DigitsTask {
 public:
  using DigitsTask::DigitsTask;
  std::shared_ptr<torch::nn::Module> make_model(const Group& group, Sharded& sharded) override {
    static std::mutex drawing;
    group.barrier().wait();  // the trainings have all seeded it
    const std::scoped_lock lock(drawing);
    torch::manual_seed(1);
    return DigitsTask::make_model(group, sharded);
  }
};

class DigitsTraining : public DigitsTest {
 protected:
  struct Trained {
    ClassifierOutcome outcome;
    std::vector<torch::Tensor> parameters;
  };
  Trained train(int ranks, const std::vector<std::string>& more = {}) const {
    Trained trained;
    run_threads(ranks, [&](World& world) {
      at::set_num_threads(1);
      SeededTask task(parse_digits(arguments(more)));
      ClassifierTraining training(world, task);
      TrainingTrace trace(world.rank());
      const ClassifierOutcome outcome = training.run(trace, nullptr);
      const auto whole = training.whole();
      if (world.rank() != 0) return;
      trained.outcome = outcome;
      for (const auto& parameter : training.model().parameters()) {
        trained.parameters.push_back(parameter.detach().clone());
      }
    });
    return trained;
  }
  static double distance(const Trained& a, const Trained& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      largest = std::max(largest, (a.parameters[i] - b.parameters[i]).abs().max().item<double>());
    }
    return largest;
  }
};

TEST_F(DigitsTraining, IsTheSameOnAnyNumberOfRanksUnlessNormalisationSeesTheRank) {
  for (const std::string norm : {"sync", "group"}) {
    const Trained alone = train(1, {"--norm", norm});
    for (const int ranks : {2, 3, 4}) {
      EXPECT_LT(distance(alone, train(ranks, {"--norm", norm})), 1e-4) << norm << ", " << ranks << " ranks";
    }
    EXPECT_LT(distance(alone, train(2, {"--norm", norm, "--stage", "2"})), 1e-4) << norm;
  }
  EXPECT_GT(distance(train(1, {"--norm", "batch"}), train(2, {"--norm", "batch"})), 1e-3);
}

TEST_F(DigitsTraining, InPartsIsTheSameWhereAnEpochsLastPartIsSmaller) {
  // 60 images: an epoch's fourth batch has 12 of them, in parts of 8 and 4.
  const std::vector<std::string> whole = {"--norm", "group", "--batch", "16"};
  std::vector<std::string> parts = whole;
  parts.insert(parts.end(), {"--accumulate", "2"});
  const Trained at_once = train(1, whole);
  for (const int ranks : {1, 3}) EXPECT_LT(distance(at_once, train(ranks, parts)), 1e-4) << ranks << " ranks";
}

TEST_F(DigitsTraining, ByLabelEachRankHasItsOwnDigitsInAnotherOrderEachEpoch) {
  run_threads(2, [&](World& world) {
    DigitsTask task(parse_digits(arguments({"--partition", "by-label"})));
    const auto loader = task.training_loader(world, 12);
    std::vector<std::vector<std::int64_t>> epochs;
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<std::int64_t>& labels = epochs.emplace_back();
      for (const Batch& batch : loader->epoch()) {
        EXPECT_EQ(batch.samples, 6);
        for (std::int64_t i = 0; i < batch.samples; ++i) labels.push_back(batch.target[i].item<std::int64_t>());
      }
    }
    EXPECT_NE(epochs[0], epochs[1]);
    for (auto& labels : epochs) {
      std::sort(labels.begin(), labels.end());
      ASSERT_EQ(labels.size(), 30U);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        EXPECT_EQ(labels[i], static_cast<std::int64_t>(5 * world.rank() + i / 6));  // six of each
      }
    }
  });
}

TEST_F(DigitsTraining, ByLabelABatchOfAllDigitsIsTheSameUnlessNormalisationSeesTheRank) {
  const auto distance_by = [&](const std::string& norm, int ranks) {
    std::vector<std::string> more = {"--batch", "60", "--iterations", "1", "--norm", norm};
    const Trained alone = train(1, more);
    more.emplace_back("--partition=by-label");
    return distance(alone, train(ranks, more));
  };
  for (const int ranks : {2, 4}) {
    for (const char* norm : {"sync", "group"}) EXPECT_LT(distance_by(norm, ranks), 3e-5) << norm << ", " << ranks;
    EXPECT_GT(distance_by("batch", ranks), 1e-4) << ranks;
  }
}

TEST_F(DigitsTraining, ByLabelAPartOfABatchCountsAsOfAllRanks) {
  std::vector<std::string> whole = {"--norm", "group", "--batch", "16"};
  const Trained shuffled = train(2, whole);
  whole.insert(whole.end(), {"--partition", "by-label"});
  const Trained at_once = train(2, whole);
  std::vector<std::string> parts = whole;
  for (const char* more : {"--accumulate=2", "--stage=2"}) {
    parts.emplace_back(more);
    EXPECT_LT(distance(at_once, train(2, parts)), 1e-4) << more;
  }
  EXPECT_GT(distance(at_once, shuffled), 1e-3) << "other digits meet";
}

TEST_F(DigitsTraining, ByLabelABatchIsCutEvenly) {
  const auto refused = [&](int ranks, const std::vector<std::string>& more) {
    return refusal_of([&] { train(ranks, more); });
  };
  EXPECT_THAT(refused(4, {"--partition=by-label", "--batch=14"}),
              testing::HasSubstr("a batch (or a part of it, by --accumulate) of 14 cannot be cut so for 4 ranks"));
  EXPECT_THAT(refused(4, {"--partition=by-label", "--accumulate=2"}), testing::HasSubstr("of 6 cannot be cut"));
  EXPECT_THAT(refused(7, {"--partition=by-label"}), testing::HasSubstr("60 of them cannot be cut so for 7 ranks"));
}

TEST_F(DigitsTraining, LearnsAndKeepsTheModel) {
  for (const std::string norm : {"batch", "sync", "group"}) {
    const Trained trained = train(2, {"--norm", norm, "--iterations", "40"});
    EXPECT_EQ(trained.outcome.best.correct, 23) << norm;
    EXPECT_EQ(trained.outcome.best.examples, 23);
    const SafetensorsFile kept(folder_ / "out" / "best" / "model.safetensors");
    EXPECT_EQ(kept.contains("1.running_mean"), norm != "group");
    EXPECT_TRUE(kept.contains("0.weight"));
  }
}

TEST_F(DigitsTraining, MayNormaliseItsLinearLayerToo) {
  for (const std::string norm : {"batch", "sync", "group"}) {
    const std::vector<std::string> linear = {"--norm", norm, "--norm-linear"};
    const double apart = distance(train(1, linear), train(3, linear));
    const SafetensorsFile kept(folder_ / "out" / "best" / "model.safetensors");
    EXPECT_EQ(kept.contains("10.running_mean"), norm != "group");
    EXPECT_TRUE(kept.contains("10.weight"));
    EXPECT_FALSE(kept.contains("9.bias")) << "which a normalisation takes out again";
    if (norm == "batch") {
      EXPECT_GT(apart, 1e-2);
    } else {
      EXPECT_LT(apart, 1e-4) << norm;
    }
  }
}

TEST_F(DigitsTraining, RunningStatisticsBecomeOneBeforeAnEvaluation) {
  run_threads(2, [&](World& world) {
    DigitsTask task(parse_digits(arguments({"--norm", "batch"})));
    Sharded sharded(world, {.stage = 0});
    const auto model = task.make_model(world, sharded);
    torch::Tensor mean = model->named_buffers()["1.running_mean"];
    mean.fill_(world.rank() + 1.0);
    task.before_evaluation(world);
    EXPECT_EQ(mean[0].item<double>(), 1.5);
  });
}

}  // namespace lockstep::lab
