#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/mixed_precision.h>

#include "train/test_parity.h"

namespace lockstep {
namespace {

using test::on_ranks;
using test::parity_of;
using test::Side;
using test::Vectors;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// --- what they do ---

TEST(Autocast, ComputesInBfloat16AndOnlyWhileItLives) {
  torch::nn::Linear layer(4, 4);
  const auto input = torch::ones({2, 4});
  {
    Autocast outer;
    {
      Autocast inner;
      EXPECT_EQ(layer(input).scalar_type(), torch::kBFloat16);
    }
    EXPECT_EQ(layer(input).scalar_type(), torch::kBFloat16);
  }
  const auto output = layer(input);
  EXPECT_EQ(output.scalar_type(), torch::kFloat32);
  output.sum().backward();
  EXPECT_EQ(layer->weight.grad().scalar_type(), torch::kFloat32);
}

TEST(Autocast, NextForwardSeesWhatTheOptimizerDid) {
  torch::nn::Linear layer(4, 4);
  const auto run = [&] {
    Autocast cast;
    return layer(torch::ones({2, 4})).to(torch::kFloat32).detach();
  };
  const auto before = run();
  torch::NoGradGuard no_grad;
  layer->weight.add_(1);
  EXPECT_FALSE(torch::allclose(run(), before, 0.1));
}

TEST(MasterWeights, SmallUpdatesAddUp) {
  torch::nn::Linear layer(torch::nn::LinearOptions(1, 1).bias(false));
  layer->to(torch::kBFloat16);
  {
    torch::NoGradGuard no_grad;
    layer->weight.fill_(1);
  }
  MasterWeights masters(layer->parameters());
  torch::optim::SGD optimizer(masters.parameters(), 1e-3);
  for (int i = 0; i < 100; ++i) {
    layer->weight.mutable_grad() = torch::ones({1, 1}, torch::kBFloat16);
    masters.take_gradients();
    optimizer.step();
    masters.give_values();
  }
  EXPECT_NEAR(masters.parameters()[0].item<double>(), 0.9, 1e-4);
  EXPECT_NEAR(layer->weight.item<double>(), 0.9, 4e-3);  // in bfloat16 alone 1 - 0.001 is 1, a hundred times over
  layer->weight.mutable_grad() = torch::Tensor();
  masters.take_gradients();
  EXPECT_FALSE(masters.parameters()[0].grad().defined());
}

TEST(LossScaler, RefusesWhatDoesNotSettle) {
  for (const LossScalerOptions& options : {LossScalerOptions{.scale = 0}, LossScalerOptions{.growth = 0.5},
                                           LossScalerOptions{.growth_interval = 0}, LossScalerOptions{.backoff = 1}}) {
    EXPECT_THAT([&] { LossScaler{options}; }, ThrowsMessage<Error>(HasSubstr("LossScaler with scale")));
  }
}

TEST(LossScaler, GrowsAfterGoodUpdatesAndUnscalesOnce) {
  Vectors model({"a"}, 1);
  torch::optim::SGD optimizer(model.parameters(), 1);
  LossScaler scaler({.scale = 8, .growth_interval = 2});
  for (const double scale : {8, 8, 16, 16, 32}) {
    EXPECT_EQ(scaler.scale(), scale);
    optimizer.zero_grad();
    scaler.scale(model.loss({"a"}, 3)).backward();
    EXPECT_TRUE(scaler.unscale(optimizer));
    EXPECT_EQ(model.gradient("a"), 3);
    EXPECT_TRUE(scaler.step(optimizer));
  }
  EXPECT_EQ(model["a"].item<float>(), -15);
}

/// Where an update is left out altogether, by a program that asked unscale() first.
TEST(LossScaler, ARoundWithoutItsStepIsOverWhenTheNextBegins) {
  Vectors model({"a"}, 1);
  torch::optim::SGD optimizer(model.parameters(), 1);
  LossScaler scaler({.scale = 8, .growth_interval = 2});
  const auto unscaled = [&](double value) {
    optimizer.zero_grad();
    scaler.scale(model.loss({"a"}, value)).backward();
    return scaler.unscale(optimizer);
  };
  EXPECT_FALSE(unscaled(INFINITY));
  EXPECT_TRUE(unscaled(3));
  EXPECT_EQ(model.gradient("a"), 3);
  EXPECT_EQ(scaler.scale(), 4);
  EXPECT_EQ(scaler.skipped(), 1);
  EXPECT_TRUE(unscaled(5)) << "the one before was finite, and is dropped";
  EXPECT_EQ(model.gradient("a"), 5);
  EXPECT_EQ(scaler.scale(), 4);
  EXPECT_EQ(scaler.skipped(), 1);
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_EQ(model["a"].item<float>(), -5);
  EXPECT_EQ(scaler.scale(), 4) << "one good update";
}

TEST(LossScaler, LossesThatAddUpAreOneRound) {
  Vectors model({"a"}, 1);
  torch::optim::SGD optimizer(model.parameters(), 1);
  LossScaler scaler({.scale = 8});
  for (const double value : std::vector<double>{INFINITY, 3}) {
    optimizer.zero_grad();
    for (int part = 0; part < 2; ++part) scaler.scale(model.loss({"a"}, value)).backward();
    if (!scaler.unscale(optimizer)) continue;
    EXPECT_TRUE(scaler.step(optimizer));
  }
  EXPECT_EQ(scaler.scale(), 4);
  EXPECT_EQ(scaler.skipped(), 1);
  EXPECT_EQ(model["a"].item<float>(), -6);
}

TEST(LossScaler, TakesSparseGradients) {
  torch::nn::Embedding table(torch::nn::EmbeddingOptions(5, 2).sparse(true));
  torch::optim::SGD optimizer(table->parameters(), 1);
  LossScaler scaler({.scale = 8});
  const auto before = table->weight.detach().clone();
  scaler.scale(table->forward(torch::tensor({1, 3, 3})).sum()).backward();
  EXPECT_TRUE(scaler.step(optimizer));
  auto expected = before.clone();
  expected[1] -= 1;
  expected[3] -= 2;
  EXPECT_TRUE(torch::allclose(table->weight, expected));
  optimizer.zero_grad();
  scaler.scale((table->forward(torch::tensor({2})) * INFINITY).sum()).backward();
  EXPECT_FALSE(scaler.step(optimizer));
  EXPECT_TRUE(torch::allclose(table->weight, expected));
}

// --- on ranks ---

/// A float16 parameter whose gradient is `value` before it is scaled.
torch::Tensor half_loss(Vectors& model, double value) { return model["a"].to(torch::kFloat32).sum() * value; }

TEST(LossScaler, AllRanksSkipWhatOverflowedOnOne) {
  for (const NonFinite non_finite : {NonFinite::kIgnore, NonFinite::kSkip}) {
    on_ranks(3, [non_finite](World& world) {
      Vectors model({"a"}, 2);
      model.to(torch::kFloat16);
      const DataParallel replica(world, model, {.non_finite = non_finite});
      MasterWeights masters(model.parameters());
      torch::optim::SGD optimizer(masters.parameters(), 1);
      LossScaler scaler({.scale = 1024});
      int updates = 0;
      for (int iteration = 0; iteration < 4; ++iteration) {
        test::clear_gradients(model);
        scaler.scale(half_loss(model, world.rank() == 1 ? 150 : 0)).backward();  // 153,600 is beyond float16
        masters.take_gradients();
        if (scaler.step(optimizer)) ++updates;
        masters.give_values();
      }
      EXPECT_EQ(scaler.skipped(), 2);  // of 1024 and 512; at 256 it fits
      EXPECT_EQ(updates, 2);
      EXPECT_EQ(scaler.scale(), 256);
      EXPECT_EQ(model["a"][0].item<float>(), -100);
    });
  }
}

constexpr double kHalfTolerance = 1e-2;  // 16-bit gradients are rounded before the mean or after it

torch::Tensor train_autocast(const Side& side) {
  auto net = test::seeded(side.seed, [] {
    return torch::nn::Sequential(torch::nn::Flatten(), torch::nn::Linear(36, 32), torch::nn::Tanh(),
                                 torch::nn::Linear(32, 3));
  });
  const auto replica = side.replicate(*net);
  const auto start = test::flat_parameters(*net);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  const auto loader = make_loader(test::spots(), side.group, test::spots_options());
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      torch::Tensor loss;
      {
        Autocast cast;
        const auto scores = net->forward(batch.data);
        EXPECT_EQ(scores.scalar_type(), torch::kBFloat16);
        loss = torch::nn::functional::cross_entropy(scores.to(torch::kFloat32), batch.target);
      }
      loss.backward();
      optimizer.step();
    }
  }
  return test::flat_parameters(*net) - start;
}

/// A linear model in float16, whose gradients would vanish without the scale: they are about 1e-8. In iteration
/// `overflowing`, if there is one, those of the last rank (or the one process) are too large.
torch::Tensor train_half(const Side& side, double scale, int overflowing = -1) {
  auto weight = test::seeded(side.seed, [] { return torch::randn({36, 3}); }).to(torch::kFloat16).requires_grad_();
  const auto replica = side.replicate(NamedTensors{{"weight", weight}});
  MasterWeights masters({weight});
  const auto start = masters.parameters()[0].detach().clone();
  torch::optim::SGD optimizer(masters.parameters(), 1e6);
  LossScaler scaler({.scale = scale});
  const auto loader = make_loader(test::spots(), side.group, test::spots_options());
  int iteration = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (auto& batch : loader->epoch()) {
      weight.mutable_grad() = torch::Tensor();
      const auto scores = torch::matmul(batch.data.flatten(1), weight.to(torch::kFloat32));
      const bool overflows = iteration++ == overflowing && side.group.rank() == side.group.size() - 1;
      const double factor = overflows ? 1 : 1e-8;
      scaler.scale(torch::nn::functional::cross_entropy(scores, batch.target) * factor).backward();
      masters.take_gradients();
      scaler.step(optimizer);
      masters.give_values();
    }
  }
  return masters.parameters()[0].detach() - start;
}

struct Mode {
  const char* name;
  test::Training train;
};

class MixedPrecisionOn : public ::testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(Modes, MixedPrecisionOn,
                         ::testing::Values(Mode{"Bfloat16", train_autocast},
                                           Mode{"Float16", [](const Side& side) { return train_half(side, 1 << 24); }},
                                           Mode{"Float16Overflowing",
                                                [](const Side& side) { return train_half(side, 1 << 24, 5); }}),
                         [](const auto& test) { return test.param.name; });

TEST_P(MixedPrecisionOn, AnyNumberOfRanksTrainAsOneProcess) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const auto result = parity_of(GetParam().train, ranks);
    EXPECT_LE(result.difference, kHalfTolerance) << ranks;
    EXPECT_TRUE(result.bits_equal) << ranks;
  }
  EXPECT_GT(parity_of(GetParam().train, 3, {}, test::dropping_the_last_rank()).difference, 10 * kHalfTolerance);
}

TEST(MixedPrecision, ParitySeesAnUpdateThatIsNotSkipped) {
  const auto overflowing = [](const Side& side) { return train_half(side, 1 << 24, side.options ? -1 : 5); };
  EXPECT_GT(parity_of(overflowing, 3).difference, 10 * kHalfTolerance);
}

TEST(LossScaler, WithoutItFloat16GradientsVanish) {
  const auto scaled = train_half({World::alone(), 1, std::nullopt}, 1 << 24);
  const auto plain = train_half({World::alone(), 1, std::nullopt}, 1);
  EXPECT_LT(plain.norm().item<double>(), 0.1 * scaled.norm().item<double>());
}

}  // namespace
}  // namespace lockstep
