// A scaled gradient that overflows in the piece of one rank, and an update that all ranks pass over.
#include <gtest/gtest.h>
#include <lockstep/mixed_precision.h>
#include <lockstep/sharded.h>

#include <cmath>

#include "train/non_finite.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

constexpr std::int64_t kValues = 64;  // on two ranks 32 each

/// One block with one parameter, of which a loss takes each value as it is, in float16.
struct Column : torch::nn::Module {
  explicit Column(Sharded& shard)
      : block(register_module("block",
                              shard.wrap(torch::nn::Linear(torch::nn::LinearOptions(1, kValues).bias(false))))) {}
  /// In which the gradient of value i is `weights[i]`.
  torch::Tensor loss(const torch::Tensor& weights) {
    return (block(torch::ones({1, 1})).to(torch::kFloat16).to(torch::kFloat32) * weights).sum();
  }
  Wrapped<torch::nn::LinearImpl> block;
};

class ScaledStage : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Stage, ScaledStage, ::testing::Values(1, 2, 3));

TEST_P(ScaledStage, AllRanksSkipWhatOverflowedInThePieceOfOne) {
  test::on_ranks(2, [](World& world) {
    Sharded shard(world, {.stage = GetParam()});
    Column net(shard);
    shard.attach(net);
    const auto values = [&] {
      const auto whole = shard.gather();
      return test::flat_parameters(net).clone();
    };
    const auto start = values();
    torch::optim::SGD optimizer(net.parameters(), 1);
    LossScaler scaler({.scale = 1024});
    auto weights = torch::ones(kValues);
    if (world.rank() == 1) weights[kValues - 1] = 150;  // times 1024 or 512 it is beyond float16
    for (const bool overflows : {true, true, false, false}) {
      optimizer.zero_grad();
      scaler.scale(net.loss(weights)).backward();
      const auto& gradient = net.parameters()[0].grad();
      const bool here = gradient.defined() && has_non_finite(gradient);
      EXPECT_EQ(here, overflows && (GetParam() == 1 || world.rank() == 1));
      EXPECT_EQ(LossScaler({.scale = 1}).unscale(optimizer), !here) << "each rank by itself would do its own";
      EXPECT_EQ(scaler.unscale(optimizer, shard), !overflows);
      if (!overflows) {
        EXPECT_NEAR(shard.clip_grad_norm(1000), std::hypot(std::sqrt(63), 75.5), 1e-3);
      }
      EXPECT_EQ(scaler.step(optimizer, shard), !overflows);
    }
    EXPECT_EQ(scaler.skipped(), 2);
    EXPECT_EQ(scaler.scale(), 256);
    auto expected = torch::full(kValues, -2.0);
    expected[kValues - 1] = -151;
    EXPECT_TRUE(torch::allclose(values() - start, expected)) << values() - start;
  });
}

TEST_P(ScaledStage, AllRanksShrinkTheScaleOfARoundWithoutItsStep) {
  test::on_ranks(2, [](World& world) {
    Sharded shard(world, {.stage = GetParam()});
    Column net(shard);
    shard.attach(net);
    torch::optim::SGD optimizer(net.parameters(), 1);
    LossScaler scaler({.scale = 1024});
    auto weights = torch::ones(kValues);
    if (world.rank() == 1) weights[kValues - 1] = 150;  // times 1024 or 512 it is beyond float16
    int updates = 0;
    for (int round = 0; round < 3; ++round) {
      optimizer.zero_grad();
      scaler.scale(net.loss(weights)).backward();
      if (!scaler.unscale(optimizer, shard)) continue;
      scaler.step(optimizer, shard);
      ++updates;
    }
    EXPECT_EQ(scaler.scale(), 256);
    EXPECT_EQ(scaler.skipped(), 2);
    EXPECT_EQ(updates, 1);
  });
}

}  // namespace
}  // namespace lockstep
