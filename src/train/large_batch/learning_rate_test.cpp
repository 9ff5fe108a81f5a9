#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/checkpoint.h>
#include <lockstep/error.h>
#include <lockstep/optim.h>
#include <lockstep/world.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "tests/processes/temporary_folder.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Property;
using testing::Throws;

/// Throws kInvalidArgument, and says so.
auto refused(const std::string& why) {
  return Throws<Error>(
      AllOf(Property(&Error::code, ErrorCode::kInvalidArgument), Property(&Error::what, HasSubstr(why))));
}

constexpr LearningRate kCosine() {
  return {.peak = 1e-3, .minimum = 1e-4, .warmup = 4, .decay = Decay::kCosine, .end = 104};
}

TEST(LearningRate, WarmsUpLinearly) {
  EXPECT_DOUBLE_EQ(kCosine().at(1), 1e-3 / 5);
  EXPECT_DOUBLE_EQ(kCosine().at(4), 1e-3 * 4 / 5);
  EXPECT_DOUBLE_EQ(kCosine().at(5), 1e-3);
}

TEST(LearningRate, DecaysAsACosineAndStaysAtTheMinimum) {
  EXPECT_NEAR(kCosine().at(55), (1e-3 + 1e-4) / 2, 1e-12) << "half way";
  for (int i = 6; i <= 104; ++i) EXPECT_LT(kCosine().at(i), kCosine().at(i - 1));
  EXPECT_DOUBLE_EQ(kCosine().at(105), 1e-4);
  EXPECT_DOUBLE_EQ(kCosine().at(100000), 1e-4);
}

TEST(LearningRate, NeedsNoWarmup) {
  EXPECT_DOUBLE_EQ((LearningRate{.peak = 1e-3, .decay = Decay::kCosine, .end = 10}.at(1)), 1e-3);
  EXPECT_DOUBLE_EQ(LearningRate{.peak = 1e-3}.at(1000000), 1e-3) << "nor a decay";
}

TEST(LearningRate, AWarmupThatFillsTheRunIsNoDivisionByZero) {
  LearningRate rate = kCosine();
  rate.warmup = rate.end = 10;
  EXPECT_DOUBLE_EQ(rate.at(10), 1e-2 / 11);
  EXPECT_DOUBLE_EQ(rate.at(11), 1e-4);
}

TEST(LearningRate, FallsInSteps) {
  const LearningRate rate{.peak = 1, .minimum = 0.02, .decay = Decay::kStep, .milestones = {30, 60, 80}, .factor = 0.1};
  EXPECT_DOUBLE_EQ(rate.at(30), 1);
  EXPECT_DOUBLE_EQ(rate.at(31), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(60), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(61), 0.02) << "not below the minimum";
}

TEST(LearningRate, FallsAsAPolynomial) {
  LearningRate rate{.peak = 1, .minimum = 0.2, .warmup = 10, .decay = Decay::kPolynomial, .end = 110};
  EXPECT_DOUBLE_EQ(rate.at(11), 1);
  EXPECT_DOUBLE_EQ(rate.at(61), 0.6) << "half of the way";
  rate.power = 2;
  EXPECT_DOUBLE_EQ(rate.at(61), 0.2 + 0.25 * 0.8);
  EXPECT_DOUBLE_EQ(rate.at(111), 0.2);
}

/// Left open, the decay would be over before the first iteration, which would train with nothing.
TEST(LearningRate, ADecayWithoutAnEndIsRefused) {
  const auto asked = [](LearningRate rate) { return [rate] { rate.at(1); }; };
  EXPECT_THAT(asked({.decay = Decay::kCosine}), refused("a cosine decay ends after 0 iterations; set `end`"));
  EXPECT_THAT(asked({.warmup = 5, .decay = Decay::kPolynomial}),
              refused("a polynomial decay ends after 0 iterations; set `end`"));
  EXPECT_THAT(asked({.decay = Decay::kCosine, .end = -1}), refused("ends after -1 iterations"));
  EXPECT_DOUBLE_EQ((LearningRate{.peak = 1, .decay = Decay::kStep}.at(1)), 1) << "which has no end";
}

TEST(LearningRate, IsSetInAllGroupsOfAnyOptimizer) {
  const std::vector<torch::Tensor> tensors{torch::zeros(2), torch::zeros(2)};
  torch::optim::AdamW adamw(
      {torch::optim::OptimizerParamGroup({tensors[0]}), torch::optim::OptimizerParamGroup({tensors[1]})});
  torch::optim::SGD sgd(tensors, 0.1);
  Lamb lamb(tensors, LambOptions(0.1));
  for (torch::optim::Optimizer* optimizer : std::initializer_list<torch::optim::Optimizer*>{&adamw, &sgd, &lamb}) {
    set_learning_rate(*optimizer, 0.25);
    for (const auto& group : optimizer->param_groups()) EXPECT_EQ(group.options().get_lr(), 0.25);
  }
}

TEST(LearningRate, ScalesWithTheBatch) {
  EXPECT_DOUBLE_EQ(scaled_linearly(0.1, 256, 8192), 3.2);  // Goyal et al.'s
  EXPECT_DOUBLE_EQ(scaled_by_square_root(0.1, 256, 1024), 0.2);
}

TEST(LearningRate, ScalesFromNoBatchThatHasNoSamples) {
  EXPECT_THAT([] { scaled_linearly(0.1, 0, 64); },
              refused("scaled_linearly was asked to go from batches of 0 samples to batches of 64"));
  EXPECT_THAT([] { scaled_by_square_root(0.1, 0, 64); }, refused("scaled_by_square_root was asked to go from"));
  EXPECT_THAT([] { scaled_linearly(0.1, 64, 0); }, refused("to batches of 0; a batch has at least one"));
  EXPECT_THAT([] { scaled_by_square_root(0.1, 64, -1); }, refused("to batches of -1"));
}

// --- resumed ---

/// A training that looks its rate up before each update.
struct Scheduled {
  explicit Scheduled(LearningRate schedule) : rate(std::move(schedule)) {
    state.module("model", *net).optimizer("optimizer", optimizer, *net).counter("iteration", iteration);
  }
  double rate_in_force() const { return optimizer.param_groups()[0].options().get_lr(); }
  /// The rates of the updates until so many are done in all.
  std::vector<double> train(std::int64_t iterations) {
    std::vector<double> rates;
    while (iteration < iterations) {
      set_learning_rate(optimizer, rate.at(++iteration));
      rates.push_back(rate_in_force());
      for (auto& parameter : net->parameters()) parameter.mutable_grad() = torch::ones_like(parameter);
      optimizer.step();
    }
    return rates;
  }

  LearningRate rate;
  torch::nn::Linear net{2, 2};
  torch::optim::AdamW optimizer{net->parameters(), torch::optim::AdamWOptions(7)};
  std::int64_t iteration = 0;
  TrainingState state;
};

struct NamedSchedule {
  const char* name;
  LearningRate rate;
};
void PrintTo(const NamedSchedule& schedule, std::ostream* out) { *out << schedule.name; }

class ResumedSchedule : public testing_support::TemporaryFolder, public testing::WithParamInterface<NamedSchedule> {};
INSTANTIATE_TEST_SUITE_P(
    Of, ResumedSchedule,
    testing::Values(
        NamedSchedule{"LinearScalingWarmup", {.peak = scaled_linearly(0.1, 8, 32), .warmup = 8}},
        NamedSchedule{"SquareRootScalingWarmup", {.peak = scaled_by_square_root(0.1, 8, 32), .warmup = 8}},
        NamedSchedule{"Cosine", {.peak = 0.1, .minimum = 0.01, .warmup = 2, .decay = Decay::kCosine, .end = 12}},
        NamedSchedule{"Step", {.peak = 0.1, .warmup = 2, .decay = Decay::kStep, .milestones = {3, 7}}},
        NamedSchedule{"Polynomial", {.peak = 0.1, .warmup = 2, .decay = Decay::kPolynomial, .end = 12, .power = 2}}),
    [](const auto& test) { return test.param.name; });

TEST_P(ResumedSchedule, GoesOnWithTheSameRatesAndNotUnlessItsStateIsRestored) {
  constexpr std::int64_t kSaved = 4;
  constexpr std::int64_t kAll = 10;
  const auto world = World::alone();
  Checkpoints checkpoints(world, folder_);
  Scheduled uninterrupted(GetParam().rate);
  const auto first = uninterrupted.train(kSaved);
  checkpoints.save(kSaved, uninterrupted.state);
  const auto rest = uninterrupted.train(kAll);

  Scheduled resumed(GetParam().rate);
  EXPECT_EQ(checkpoints.load(resumed.state), kSaved);
  EXPECT_EQ(resumed.rate_in_force(), first.back());
  EXPECT_EQ(resumed.train(kAll), rest);
  EXPECT_TRUE(torch::equal(resumed.net->weight, uninterrupted.net->weight));

  Scheduled forgetful(GetParam().rate);
  checkpoints.load(forgetful.state);
  forgetful.iteration = 0;  // as if nobody had saved it
  EXPECT_NE(forgetful.train(kAll - kSaved), rest);
  EXPECT_FALSE(torch::equal(forgetful.net->weight, uninterrupted.net->weight));
}

TEST(BatchWarmup, GrowsLinearly) {
  const BatchWarmup warmup{.first = 1, .last = 5, .iterations = 8};
  std::vector<std::int64_t> sizes;
  for (int i = 1; i <= 10; ++i) sizes.push_back(warmup.at(i));
  EXPECT_THAT(sizes, ElementsAre(1, 1, 2, 2, 3, 3, 4, 4, 5, 5));
  EXPECT_EQ(BatchWarmup{}.at(1), 1);
}

}  // namespace
}  // namespace lockstep
