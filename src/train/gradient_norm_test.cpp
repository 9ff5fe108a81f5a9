#include "train/gradient_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "train/test_parity.h"

namespace lockstep {
namespace {

using test::on_ranks;
using test::Vectors;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::ThrowsMessage;

torch::Tensor with_gradient(const torch::Tensor& gradient) {
  auto parameter = torch::zeros_like(gradient, torch::requires_grad());
  parameter.mutable_grad() = gradient;
  return parameter;
}

TEST(GradientNorm, IsThatOfAllElementsOnAnyNumberOfRanks) {
  torch::manual_seed(3);
  const std::vector<torch::Tensor> parameters{with_gradient(torch::randn({7, 5}).t()),
                                              with_gradient(torch::randn({130}, torch::kFloat64)),
                                              torch::zeros({9}, torch::requires_grad()),  // no gradient
                                              with_gradient(torch::full({3}, 2.0, torch::kBFloat16))};
  double squares = 0;
  for (const auto& parameter : parameters) {
    if (parameter.grad().defined()) squares += parameter.grad().to(torch::kFloat64).square().sum().item<double>();
  }
  for (int ranks = 1; ranks <= 4; ++ranks) {
    on_ranks(ranks, [&](World& world) {
      EXPECT_NEAR(gradient_norm(world, parameters), std::sqrt(squares), 1e-12 * squares) << ranks;
    });
  }
}

TEST(GradientNorm, ClippingScalesOnlyWhatIsLonger) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b", "unused"}, 2);
    DataParallel replica(world, model);
    model.loss({"a", "b"}, world.rank() == 0 ? 1 : 5).backward();  // mean 3 in 4 elements: norm 6
    EXPECT_DOUBLE_EQ(replica.clip_grad_norm(100), 6);
    EXPECT_THAT(model.gradient("a"), Optional(3.0));
    EXPECT_DOUBLE_EQ(replica.clip_grad_norm(2), 6);
    EXPECT_NEAR(*model.gradient("a"), 1, 1e-6);
    EXPECT_FALSE(model.gradient("unused").has_value());
    EXPECT_NEAR(replica.clip_grad_norm(2), 2, 1e-6);
  });
}

TEST(GradientNorm, WhatHasNoLengthIsLeftAlone) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "b"});
    DataParallel replica(world, model);
    const double infinity = std::numeric_limits<double>::infinity();
    (model.loss({"a"}, world.rank() * infinity) + model.loss({"b"}, 4)).backward();
    EXPECT_FALSE(std::isfinite(replica.clip_grad_norm(1)));
    EXPECT_THAT(model.gradient("b"), Optional(4.0));
    EXPECT_THAT([&] { replica.clip_grad_norm(0); }, ThrowsMessage<Error>(HasSubstr("clip_grad_norm(0)")));
  });
}

/// Clips to a fifth of what the first gradient is long; `own` clips each rank by its own gradients, before the mean.
torch::Tensor train_clipping(const test::Side& side, bool own) {
  constexpr double kMaximum = 0.2;
  const auto net = test::make_net(side.seed);
  auto replica = side.replicate(*net);
  const auto start = test::flat_parameters(*net);
  torch::optim::SGD optimizer(net->parameters(), 0.5);
  const auto loader = make_loader(test::spots(), side.group, test::spots_options());
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
      if (replica && !own) {
        replica->clip_grad_norm(kMaximum);
      } else {
        torch::nn::utils::clip_grad_norm_(net->parameters(), own ? kMaximum * (1 + side.group.rank()) : kMaximum);
      }
      optimizer.step();
    }
  }
  return test::flat_parameters(*net) - start;
}

TEST(GradientNorm, ClippedTrainingIsTheSameOnAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const auto result = test::parity_of([](const auto& side) { return train_clipping(side, false); }, ranks);
    EXPECT_LE(result.difference, test::kParityTolerance) << ranks;
    EXPECT_TRUE(result.bits_equal) << ranks;
  }
  const auto wrong = test::parity_of([](const auto& side) { return train_clipping(side, side.group.size() > 1); }, 3);
  EXPECT_FALSE(wrong.bits_equal);
  const auto dropped = test::parity_of([](const auto& side) { return train_clipping(side, false); }, 3, {},
                                       test::dropping_the_last_rank());
  EXPECT_GT(dropped.difference, 100 * test::kParityTolerance);
}

}  // namespace
}  // namespace lockstep
