#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/optim.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

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

TEST(BatchWarmup, GrowsLinearly) {
  const BatchWarmup warmup{.first = 1, .last = 5, .iterations = 8};
  std::vector<std::int64_t> sizes;
  for (int i = 1; i <= 10; ++i) sizes.push_back(warmup.at(i));
  EXPECT_THAT(sizes, ElementsAre(1, 1, 2, 2, 3, 3, 4, 4, 5, 5));
  EXPECT_EQ(BatchWarmup{}.at(1), 1);
}

}  // namespace
}  // namespace lockstep
