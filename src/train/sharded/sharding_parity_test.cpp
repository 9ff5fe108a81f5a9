// One training on one process and sharded over several, the same to rounding, and in canonical mode the same bits at
// every stage: and the checks that say so fail when they should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

#include "train/sharded/sharding_training.h"

namespace lockstep {
namespace {

using test::relative_difference;
using test::ShardedTraining;
using test::train_alone;
using test::train_on;
using test::train_sharded;

constexpr double kTolerance = 1e-5;

using Case = std::tuple<std::string, int, int>;
std::string case_name(const ::testing::TestParamInfo<Case>& test) {
  const auto& [optimizer, stage, ranks] = test.param;
  return optimizer + "_stage_" + std::to_string(stage) + "_on_" + std::to_string(ranks);
}

class ShardingParity : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(On, ShardingParity,
                         ::testing::Combine(::testing::ValuesIn(test::optimizer_names()), ::testing::Values(1, 2, 3),
                                            ::testing::Values(1, 2, 3, 4)),
                         case_name);

TEST_P(ShardingParity, SameTrainingAsOneProcess) {
  const auto& [optimizer, stage, ranks] = GetParam();
  const auto expected = train_alone({.optimizer = optimizer});
  const auto changes = train_on(ranks, stage, {.optimizer = optimizer});
  for (const auto& change : changes) {
    EXPECT_LE(relative_difference(change, expected), kTolerance);
    EXPECT_TRUE(torch::equal(change, changes[0]));
  }
}

class ShardingParityOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, ShardingParityOn, ::testing::Values(1, 2, 3, 4));

TEST_P(ShardingParityOn, SameWhenClippingAcrossShards) {
  const ShardedTraining what{.optimizer = "SGD", .max_norm = 0.05};
  const auto expected = train_alone(what);
  EXPECT_GT(relative_difference(train_alone({.optimizer = "SGD"}), expected), 1000 * kTolerance)
      << "nothing was clipped";
  for (int stage = 0; stage <= 3; ++stage) {
    EXPECT_LE(relative_difference(train_on(GetParam(), stage, what)[0], expected), kTolerance) << "stage " << stage;
  }
}

TEST_P(ShardingParityOn, SameWhenAccumulatingUnderPause) {
  const ShardedTraining what{.optimizer = "SGD", .accumulate = true};
  const auto expected = train_alone(what);
  for (int stage = 0; stage <= 3; ++stage) {
    EXPECT_LE(relative_difference(train_on(GetParam(), stage, what)[0], expected), kTolerance) << "stage " << stage;
  }
}

constexpr double kFloat16Tolerance = 1e-2;  // which rounds before the mean or after it

TEST_P(ShardingParityOn, SameWithScaledLossesAnUpdateOfWhichIsPassedOver) {
  const ShardedTraining what{.optimizer = "SGD", .scaled = true};
  const auto expected = train_alone(what);
  EXPECT_GT(relative_difference(train_alone({.optimizer = "SGD"}), expected), 10 * kFloat16Tolerance)
      << "no update was passed over";
  for (int stage = 1; stage <= 3; ++stage) {
    const auto changes = train_on(GetParam(), stage, what);
    for (const auto& change : changes) {
      EXPECT_LE(relative_difference(change, expected), kFloat16Tolerance) << "stage " << stage;
      EXPECT_TRUE(torch::equal(change, changes[0])) << "stage " << stage;
    }
  }
}

TEST_P(ShardingParityOn, CanonicalBitsAreTheSameAtEveryStage) {
  ::setenv("LOCKSTEP_REDUCTION", "canonical", 1);
  for (const std::string& optimizer : test::optimizer_names()) {
    const ShardedTraining what{.optimizer = optimizer, .max_norm = 0.3};
    const auto expected = train_on(GetParam(), 0, what)[0];
    for (int stage = 1; stage <= 3; ++stage) {
      EXPECT_TRUE(torch::equal(train_on(GetParam(), stage, what)[0], expected)) << optimizer << " at stage " << stage;
    }
  }
  ::unsetenv("LOCKSTEP_REDUCTION");
}

class ShardingFault : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Stage, ShardingFault, ::testing::Values(1, 2, 3));

using Fault = std::function<void(int rank, const std::vector<torch::Tensor>& parameters)>;

/// Lets ranks do something wrong before each step.
double with_fault(int stage, const Fault& fault, const ShardedTraining& what = {.optimizer = "SGD"}) {
  std::vector<torch::Tensor> changes(3);
  test::on_ranks(3, [&](World& world) {
    auto faulty = what;
    faulty.tamper = [&](const std::vector<torch::Tensor>& parameters) { fault(world.rank(), parameters); };
    changes[static_cast<std::size_t>(world.rank())] = train_sharded(world, stage, 1, faulty);
  });
  return relative_difference(changes[0], train_alone(what));
}

Fault scaled(int faulty_rank, double factor) {
  return [=](int rank, const std::vector<torch::Tensor>& parameters) {
    for (const auto& parameter : parameters) {
      if (rank == faulty_rank && parameter.grad().defined()) parameter.grad().mul_(factor);
    }
  };
}

TEST_P(ShardingFault, NoFaultPasses) { EXPECT_LE(with_fault(GetParam(), scaled(1, 1)), kTolerance); }

TEST_P(ShardingFault, ShowsWhenARankLosesItsPieceOfTheGradient) {
  EXPECT_GT(with_fault(GetParam(), scaled(1, 0)), 100 * kTolerance);
}

TEST_P(ShardingFault, ShowsWhenARankLosesItsPieceOfAScaledGradient) {
  const ShardedTraining what{.optimizer = "SGD", .scaled = true};
  EXPECT_LE(with_fault(GetParam(), scaled(1, 1), what), kFloat16Tolerance);
  EXPECT_GT(with_fault(GetParam(), scaled(1, 0), what), 10 * kFloat16Tolerance);
}

TEST_P(ShardingFault, ShowsWhenARankLosesItsPieceOfWhatItAccumulated) {
  const ShardedTraining what{.optimizer = "SGD", .accumulate = true};
  EXPECT_LE(with_fault(GetParam(), scaled(1, 1), what), kTolerance);
  EXPECT_GT(with_fault(GetParam(), scaled(1, 0), what), 100 * kTolerance);
}

TEST_P(ShardingFault, ShowsWhenARankWeighsTwice) { EXPECT_GT(with_fault(GetParam(), scaled(2, 2)), 100 * kTolerance); }

TEST_P(ShardingFault, ShowsWhenNormsAreOfOnePieceOnly) {
  if (GetParam() == 1) return;  // gradients are whole there
  const auto expected = train_alone({.optimizer = "SGD", .max_norm = 0.05});
  std::vector<torch::Tensor> changes(3);
  test::on_ranks(3, [&](World& world) {
    const auto clip_own = [](const std::vector<torch::Tensor>& parameters) {
      torch::nn::utils::clip_grad_norm_(parameters, 0.05);
    };
    changes[static_cast<std::size_t>(world.rank())] =
        train_sharded(world, GetParam(), 1, {.optimizer = "SGD", .tamper = clip_own});
  });
  EXPECT_GT(relative_difference(changes[0], expected), 100 * kTolerance);
}

TEST_P(ShardingFault, ShowsWhenLayersAreMeasuredByOnePieceOnly) {
  for (const std::string optimizer : {"LARS", "LAMB"}) {
    const auto expected = train_alone({.optimizer = optimizer});
    EXPECT_GT(relative_difference(train_on(3, GetParam(), {.optimizer = optimizer, .disguised = true})[0], expected),
              100 * kTolerance);
  }
}

}  // namespace
}  // namespace lockstep
