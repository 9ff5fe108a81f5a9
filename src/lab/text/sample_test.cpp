#include "lab/text/sample.h"

#include "lab/text/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/optim.h>
#include <torch/types.h>

namespace lockstep::lab {

namespace {

constexpr GptSize kOneLayer{.vocabulary = 7, .layers = 1, .heads = 2, .width = 16, .context = 4, .dropout = 0};

/// A model that has learned to count: after t comes t + 1, modulo 7.
Gpt counting_model() {
  Gpt model(kOneLayer, 1);
  auto optimizer = make_optimizer(*model, 0);
  set_learning_rate(optimizer, 3e-2);
  const torch::Tensor inputs = (torch::arange(7, torch::kInt64).view({7, 1}) + torch::arange(4, torch::kInt64)) % 7;
  for (int i = 0; i < 80; ++i) {
    optimizer.zero_grad();
    model->loss(inputs, (inputs + 1) % 7).backward();
    optimizer.step();
  }
  return model;
}

}  // namespace

TEST(Sample, ContinuesWhatTheModelLearned) {
  Gpt model = counting_model();
  EXPECT_THAT(generate(model, {3}, {.length = 10, .temperature = 0}),
              testing::ElementsAre(4, 5, 6, 0, 1, 2, 3, 4, 5, 6))
      << "beyond the context too";
  EXPECT_THAT(generate(model, {0, 1, 2, 3, 4, 5}, {.length = 2, .temperature = 0}), testing::ElementsAre(6, 0))
      << "a prompt longer than the context";
}

TEST(Sample, TemperatureGoesFromLikelyToWild) {
  Gpt model = counting_model();
  const auto likely = generate(model, {3}, {.length = 10, .temperature = 0});
  EXPECT_EQ(generate(model, {3}, {.length = 10, .temperature = 0.05}), likely);
  EXPECT_NE(generate(model, {3}, {.length = 10, .temperature = 100}), likely);
}

TEST(Sample, DependsOnTheSeedOnly) {
  Gpt model(kOneLayer, 1);
  const auto first = generate(model, {3}, {.length = 20, .temperature = 1, .seed = 5});
  EXPECT_EQ(generate(model, {3}, {.length = 20, .temperature = 1, .seed = 5}), first);
  EXPECT_NE(generate(model, {3}, {.length = 20, .temperature = 1, .seed = 6}), first);
  EXPECT_THAT(first, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(7))));
}

TEST(Sample, OfNothingIsNothing) {
  Gpt model(kOneLayer, 1);
  EXPECT_TRUE(generate(model, {3}, {.length = 0}).empty());
}

}  // namespace lockstep::lab
