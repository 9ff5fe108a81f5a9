#include "lab/text/gpt.h"

#include "lab/text/optimizer.h"

#include <gtest/gtest.h>
#include <lockstep/optim.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

namespace lockstep::lab {

namespace {

constexpr GptSize kTwoLayers{.vocabulary = 11, .layers = 2, .heads = 2, .width = 16, .context = 8, .dropout = 0};

torch::Tensor tokens(std::int64_t batch, std::int64_t time) {
  return (torch::arange(batch * time, torch::kInt64) * 7 % kTwoLayers.vocabulary).view({batch, time});
}

}  // namespace

TEST(Gpt, MapsTokensToLogits) {
  Gpt model(kTwoLayers, 1);
  EXPECT_EQ(model->forward(tokens(3, 8)).sizes(), (std::vector<std::int64_t>{3, 8, 11}));
  EXPECT_EQ(model->forward(tokens(1, 5)).sizes(), (std::vector<std::int64_t>{1, 5, 11})) << "a shorter window";
}

TEST(Gpt, HasAsManyParametersAsItsSizeSays) {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : Gpt(kTwoLayers, 1)->parameters()) count += parameter.numel();
  EXPECT_EQ(parameter_count(kTwoLayers), count) << "the tied matrix counts once";
  EXPECT_EQ(parameter_count({.vocabulary = 65, .layers = 4, .heads = 4, .width = 128, .context = 64}), 805248);
}

TEST(Gpt, NeverLooksAhead) {
  const torch::NoGradGuard no_grad;
  Gpt model(kTwoLayers, 1);
  const torch::Tensor before = tokens(1, 8);
  torch::Tensor after = before.clone();
  after[0][5] = (after[0][5] + 1) % kTwoLayers.vocabulary;
  const torch::Tensor difference = (model->forward(before) - model->forward(after)).abs().amax(-1)[0];
  EXPECT_EQ(difference.slice(0, 0, 5).max().item<float>(), 0) << "the past changed";
  EXPECT_GT(difference.slice(0, 5, 8).min().item<float>(), 0) << "the present or the future did not";
}

TEST(Gpt, HeadsAttendSeparately) {
  // One head twice as wide is another function of the same weights.
  const torch::NoGradGuard no_grad;
  GptSize one_head = kTwoLayers;
  one_head.heads = 1;
  Gpt two(kTwoLayers, 1), one(one_head, 1);
  EXPECT_FALSE(torch::allclose(two->forward(tokens(1, 8)), one->forward(tokens(1, 8))));
}

TEST(Gpt, BeginsAsUncertainAsAGuess) {
  Gpt model(kTwoLayers, 1);
  const torch::Tensor inputs = tokens(4, 8);
  EXPECT_NEAR(model->loss(inputs, (inputs + 1) % kTwoLayers.vocabulary).item<double>(), std::log(11), 0.1);
}

TEST(Gpt, InitialWeightsAreNanoGpts) {
  const GptSize size{.vocabulary = 65, .layers = 8, .heads = 4, .width = 128, .context = 64, .dropout = 0};
  for (const auto& parameter : Gpt(size, 3)->named_parameters()) {
    const torch::Tensor& value = parameter.value();
    if (value.dim() < 2) {
      EXPECT_TRUE(torch::equal(value, torch::full_like(value, parameter.key().find("bias") == std::string::npos)));
      continue;
    }
    const bool residual = parameter.key().find("projection") != std::string::npos;
    const double deviation = residual ? 0.02 / 4 : 0.02;
    EXPECT_NEAR(value.std().item<double>(), deviation, deviation * 0.05) << parameter.key();
    EXPECT_NEAR(value.mean().item<double>(), 0, deviation * 0.05) << parameter.key();
  }
}

TEST(Gpt, InitialWeightsDependOnTheSeedOnly) {
  torch::manual_seed(1);
  const auto first = Gpt(kTwoLayers, 5)->parameters();
  torch::manual_seed(2);
  const auto again = Gpt(kTwoLayers, 5)->parameters();
  const auto other = Gpt(kTwoLayers, 6)->parameters();
  EXPECT_TRUE(torch::equal(first[0], again[0]));
  EXPECT_FALSE(torch::equal(first[0], other[0]));
}

TEST(Gpt, DropsOutOnlyInTraining) {
  GptSize size = kTwoLayers;
  size.dropout = 0.5;
  Gpt model(size, 1);
  EXPECT_FALSE(torch::equal(model->forward(tokens(1, 8)), model->forward(tokens(1, 8))));
  model->eval();
  EXPECT_TRUE(torch::equal(model->forward(tokens(1, 8)), model->forward(tokens(1, 8))));
}

TEST(Gpt, LearnsOneBatchByHeart) {
  Gpt model(kTwoLayers, 1);
  auto optimizer = make_optimizer(*model, 0);
  set_learning_rate(optimizer, 1e-2);
  const torch::Tensor inputs = tokens(2, 8), targets = (inputs + 3) % kTwoLayers.vocabulary;
  for (int i = 0; i < 60; ++i) {
    optimizer.zero_grad();
    model->loss(inputs, targets).backward();
    optimizer.step();
  }
  EXPECT_LT(model->loss(inputs, targets).item<double>(), 0.1);
}

}  // namespace lockstep::lab
