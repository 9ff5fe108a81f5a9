// What each hook makes of a bucket, what it sends, and what it does not lose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/hooks.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>

#include "train/test_model.h"

namespace lockstep {
namespace {

using test::on_ranks;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A matrix and a vector, in one bucket with a gap between them.
struct Model : torch::nn::Module {
  torch::Tensor vector = register_parameter("vector", torch::zeros({10}));
  torch::Tensor matrix = register_parameter("matrix", torch::zeros({48, 32}));

  /// A backward after which the gradients are the mean over ranks of these, or what a hook makes of it.
  void give(const torch::Tensor& of_vector, const torch::Tensor& of_matrix) {
    test::clear_gradients(*this);
    ((vector * of_vector).sum() + (matrix * of_matrix).sum()).backward();
  }
  torch::Tensor gradients() const { return torch::cat({vector.grad().flatten(), matrix.grad().flatten()}); }
};

/// Gradients of rank `rank` in iteration `iteration`: no two the same.
torch::Tensor numbers(at::IntArrayRef shape, int rank, int iteration) {
  const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return torch::sin(torch::arange(count, torch::kFloat64) * (1.7 + rank) + 11 * rank + iteration)
      .to(torch::kFloat32)
      .reshape(shape);
}

using MakeHook = std::function<BucketHookPtr(const Group&)>;

struct Outcome {
  double error = 0;         ///< of the sum of all iterations' means, over its norm
  bool bits_equal = false;  ///< between ranks
  HookTraffic traffic;
};

/// `iterations` backwards with gradients that change, or (fixed) do not.
Outcome outcome_of(const MakeHook& make, int ranks, int iterations, bool fixed = false) {
  Outcome outcome;
  on_ranks(ranks, [&](World& world) {
    Model model;
    const auto hook = make(world);
    const DataParallel replica(world, model, {.rebuild_buckets = false, .communication_hook = use(hook)});
    auto got = torch::zeros({10 + 48 * 32});
    auto wanted = torch::zeros_like(got);
    for (int i = 0; i < iterations; ++i) {
      const int iteration = fixed ? 0 : i;
      model.give(numbers({10}, world.rank(), iteration), numbers({48, 32}, world.rank(), iteration));
      got += model.gradients();
      for (int rank = 0; rank < ranks; ++rank) {
        wanted += torch::cat({numbers({10}, rank, iteration), numbers({48 * 32}, rank, iteration)}) / ranks;
      }
    }
    auto largest = got.clone();
    auto smallest = got.clone();
    world.all_reduce(buffer_of(largest.data_ptr<float>(), 1546), ReduceOp::kMax).wait();
    world.all_reduce(buffer_of(smallest.data_ptr<float>(), 1546), ReduceOp::kMin).wait();
    if (world.rank() != 0) return;
    outcome = {((got - wanted).norm() / wanted.norm()).item<double>(), torch::equal(largest, smallest),
               hook->traffic()};
  });
  return outcome;
}

struct Case {
  std::string name;
  MakeHook make;
  bool exact;
  double error;                            ///< at most, of one mean
  std::function<double(int ranks)> ratio;  ///< within a tenth
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

std::vector<Case> cases() {
  const auto always = [](double ratio) { return [ratio](int) { return ratio; }; };
  return {
      {"all_reduce", [](const Group& g) { return all_reduce_hook(g); }, true, 1e-6, always(1)},
      {"float16(all_reduce)", [](const Group& g) { return cast_hook(torch::kFloat16, all_reduce_hook(g)); }, false,
       1e-3, always(2)},
      {"bfloat16(all_reduce)", [](const Group& g) { return cast_hook(torch::kBFloat16, all_reduce_hook(g)); }, false,
       1e-2, always(2)},
      {"int8(64)", [](const Group& g) { return int8_hook(g, 64); }, false, 2e-2, always(3.4)},
      {"sign(1024)", [](const Group& g) { return sign_hook(g); }, false, 0.8, [](int p) { return 50.0 / p; }},
      {"qsgd(127)", [](const Group& g) { return qsgd_hook(g, 127, 7); }, false, 0.2, [](int p) { return 6.0 / p; }},
      {"qsgd(7)", [](const Group& g) { return qsgd_hook(g, 7, 7, 24); }, false, 1, [](int p) { return 12.0 / p; }},
      {"threshold(0)", [](const Group& g) { return threshold_hook(g, 0); }, false, 1e-6, [](int p) { return 1.0 / p; }},
      {"threshold(0.9)", [](const Group& g) { return threshold_hook(g, 0.9); }, false, 0.8,
       [](int p) { return 3.5 / p; }},
      {"adaptive_threshold(0.01)", [](const Group& g) { return adaptive_threshold_hook(g, 0.01); }, false, 1,
       [](int p) { return 60.0 / p; }},  // a sine's magnitudes have no tail: it sends more than it should
      {"top_k(1)", [](const Group& g) { return top_k_hook(g, 1); }, false, 1e-6, [](int p) { return 1.0 / p; }},
      {"top_k(0.01)", [](const Group& g) { return top_k_hook(g, 0.01); }, false, 1, [](int p) { return 100.0 / p; }},
      {"random_k(1, all_reduce)", [](const Group& g) { return random_k_hook(1, 7, all_reduce_hook(g)); }, false, 1e-6,
       always(1)},
      {"random_k(0.1, bfloat16(all_reduce))",
       [](const Group& g) { return random_k_hook(0.1, 7, cast_hook(torch::kBFloat16, all_reduce_hook(g))); }, false, 1,
       always(20)},
      {"power_sgd(2)", [](const Group& g) { return power_sgd_hook(g, 2, 7); }, false, 1.1, always(9)},
  };
}

class Hooks : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, Hooks, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST_P(Hooks, GivesTheMeanAsNearAsItSays) {
  for (int ranks = 2; ranks <= 4; ++ranks) {
    const auto outcome = outcome_of(GetParam().make, ranks, 1);
    EXPECT_LE(outcome.error, GetParam().error) << ranks;
    EXPECT_TRUE(outcome.bits_equal) << ranks;
    const double ratio = GetParam().ratio(ranks);
    EXPECT_NEAR(outcome.traffic.ratio(), ratio, ratio / 10) << ranks;
  }
}

TEST_P(Hooks, SaysItsNameAndWhetherItIsExact) {
  const auto hook = GetParam().make(World::alone());
  EXPECT_EQ(hook->name(), GetParam().name);
  EXPECT_EQ(hook->exact(), GetParam().exact);
  const auto fed = error_feedback(hook);
  EXPECT_EQ(fed->name(), "error_feedback(" + GetParam().name + ")");
  EXPECT_EQ(fed->exact(), GetParam().exact);
}

TEST_P(Hooks, WithErrorFeedbackNothingIsLostForGood) {
  constexpr int kIterations = 150;
  const auto fed = [&](const Group& group) { return error_feedback(GetParam().make(group)); };
  const auto outcome = outcome_of(fed, 2, kIterations, /*fixed=*/true);
  EXPECT_LE(outcome.error, 0.6);  // 1 % of values are sent at a time: after 150 times each was sent once
  EXPECT_TRUE(outcome.bits_equal);
  if (GetParam().error < 0.8) return;
  const auto without = outcome_of(GetParam().make, 2, kIterations, /*fixed=*/true);
  EXPECT_GT(without.error, 1.3 * outcome.error) << "it loses nothing: what is error feedback for?";
}

GradientBucket bucket_of_one(const torch::Tensor& flat) {
  GradientBucket bucket;
  bucket.flat = flat;
  bucket.parameters = {"w"};
  bucket.gradients = {flat};
  bucket.last = true;
  return bucket;
}

/// Beside a value a thousand times as large, a mean of four ranks is often below half a step of 8 bits.
TEST(ErrorFeedback, SmallValuesComeThroughEightBitsOnManyRanks) {
  constexpr int kIterations = 400;
  on_ranks(4, [](World& world) {
    const auto hook = error_feedback(int8_hook(world));
    auto gradient = torch::full({1000}, 1e-3);
    gradient[0] = 1;
    auto sum = torch::zeros({1000});
    for (int i = 0; i < kIterations; ++i) {
      const auto bucket = bucket_of_one(gradient.clone());
      hook->reduce(bucket, nullptr).wait();
      sum += bucket.flat;
    }
    const auto wanted = gradient * kIterations;
    EXPECT_LE(((sum - wanted).norm() / wanted.slice(0, 1).norm()).item<double>(), 0.1);
  });
}

TEST(Hooks, ABlockThatIsNotFullHasItsOwnMean) {
  on_ranks(2, [](World& world) {
    const auto bucket = bucket_of_one(torch::ones({1026}));
    sign_hook(world)->reduce(bucket, nullptr).wait();
    EXPECT_TRUE(torch::allclose(bucket.flat, torch::ones({1026}))) << bucket.flat.slice(0, 1020);
  });
}

TEST_P(Hooks, Float64IsSentAsItIs) {  // or in 16 bits, which hold these numbers
  const bool draws = GetParam().name.find("random_k(0") == 0;
  on_ranks(2, [&](World& world) {
    Model model;
    model.to(torch::kFloat64);
    const DataParallel replica(world, model, {.communication_hook = use(error_feedback(GetParam().make(world)))});
    model.give(torch::full({10}, 1.0 + world.rank()), torch::full({48, 32}, 1.0 + world.rank()));
    const auto gradients = model.gradients();
    const auto right = gradients.eq(1.5);
    EXPECT_TRUE((draws ? right.logical_or(gradients.eq(0)) : right).all().item<bool>());
    EXPECT_GT(right.sum().item<int>(), 100);
  });
}

TEST(PowerSgd, FindsAMatrixOfItsRank) {
  on_ranks(3, [](World& world) {
    Model model;
    const DataParallel replica(world, model, {.communication_hook = use(power_sgd_hook(world, 2, 7))});
    const auto column = numbers({48, 1}, 0, 1);
    const auto row = numbers({1, 32}, 1, 2);
    model.give(numbers({10}, 0, 0), torch::matmul(column, row) * world.rank() + torch::full({48, 32}, 0.5));
    const auto wanted = torch::matmul(column, row) + 0.5;
    EXPECT_LE(((model.matrix.grad() - wanted).norm() / wanted.norm()).item<double>(), 1e-4);
    EXPECT_TRUE(torch::allclose(model.vector.grad(), numbers({10}, 0, 0), 1e-5, 1e-6));
    // After gradients of nothing it still finds what comes.
    model.give(torch::zeros({10}), torch::zeros({48, 32}));
    EXPECT_EQ(model.matrix.grad().norm().item<double>(), 0);
    model.give(torch::zeros({10}), wanted);
    EXPECT_LE(((model.matrix.grad() - wanted).norm() / wanted.norm()).item<double>(), 1e-4);
  });
}

/// Each call is a step of the power iteration from where the last one ended. With factors drawn anew it would stay
/// where the first one is.
TEST(PowerSgd, ComesNearTheBestOfItsRankCallByCall) {
  const auto matrix = torch::sin(torch::arange(48 * 32, torch::kFloat64).square()).view({48, 32}).to(torch::kFloat32) *
                      torch::pow(0.8, torch::arange(32));
  const double best = torch::linalg_svdvals(matrix).slice(0, 2).norm().item<double>();
  on_ranks(2, [&](World& world) {
    const auto hook = power_sgd_hook(world, 2, 7);
    std::vector<double> errors;
    for (int call = 0; call < 20; ++call) {
      auto bucket = bucket_of_one((matrix * (0.5 + world.rank())).flatten());
      bucket.gradients = {bucket.flat.view({48, 32})};
      hook->reduce(bucket, nullptr).wait();
      errors.push_back((bucket.gradients[0] - matrix).norm().item<double>() / best);
    }
    EXPECT_LE(errors.back(), 1.001);
    EXPECT_GE(errors.back(), 1 - 1e-5);
    EXPECT_GT(errors.front(), 1.02);
  });
}

TEST(ErrorFeedback, StartsAnewWhenBucketsAreLaidOutAnew) {
  on_ranks(2, [](World& world) {
    Model model;
    const DataParallel replica(
        world, model,
        {.first_bucket_bytes = 64, .bucket_bytes = 64, .communication_hook = use(error_feedback(sign_hook(world)))});
    for (int i = 0; i < 3; ++i) {
      model.give(torch::ones({10}), torch::ones({48, 32}));
      EXPECT_TRUE(torch::isfinite(model.gradients()).all().item<bool>());
    }
  });
}

/// One bad gradient costs one update: no hook keeps it.
TEST(Hooks, OneInfiniteGradientIsForgotten) {
  const std::vector<std::pair<std::string, MakeHook>> hooks{
      {"top_k", [](const Group& group) { return error_feedback(top_k_hook(group, 0.1)); }},
      {"fp16", [](const Group& group) { return error_feedback(cast_hook(torch::kFloat16, all_reduce_hook(group))); }},
      {"sign", [](const Group& group) { return error_feedback(sign_hook(group)); }},
      {"power_sgd", [](const Group& group) { return error_feedback(power_sgd_hook(group, 2, 7)); }},
      {"deep_gradient", [](const Group& group) { return deep_gradient_hook(group, {.fraction = 0.1}); }}};
  for (const auto& [name, make] : hooks) {
    on_ranks(2, [&](World& world) {
      Model model;
      const DataParallel replica(world, model,
                                 {.non_finite = NonFinite::kSkip, .communication_hook = use(make(world))});
      for (int i = 0; i < 6; ++i) {
        auto of_matrix = numbers({48, 32}, world.rank(), i);
        if (i == 2 && world.rank() == 1) of_matrix.view({-1}).narrow(0, 0, 400).fill_(INFINITY);
        model.give(numbers({10}, world.rank(), i), of_matrix);
        EXPECT_EQ(replica.report().skipped, i == 2) << name << " in iteration " << i;
        if (i == 2) continue;
        EXPECT_TRUE(torch::isfinite(model.gradients()).all().item<bool>()) << name << " in iteration " << i;
      }
    });
  }
}

/// As in one process: nobody trains on as if nothing had been.
TEST_P(Hooks, WhatIsNoNumberReachesAllRanksAndIsForgotten) {
  const auto fed = [](const Group& group) { return error_feedback(GetParam().make(group)); };
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    for (const MakeHook& make : {GetParam().make, MakeHook(fed)}) {
      for (int ranks = 1; ranks <= 4; ++ranks) {
        on_ranks(ranks, [&](World& world) {
          Model model;
          const DataParallel replica(world, model, {.communication_hook = use(make(world))});
          for (int i = 0; i < 4; ++i) {
            auto of_matrix = numbers({48, 32}, world.rank(), i);
            if (i == 2 && world.rank() == ranks - 1) of_matrix[7][5] = bad;
            model.give(numbers({10}, world.rank(), i), of_matrix);
            EXPECT_EQ(torch::isfinite(model.gradients()).all().item<bool>(), i != 2)
                << bad << " on " << ranks << " ranks, iteration " << i;
          }
        });
      }
    }
  }
}

TEST(Hooks, RefuseWhatMakesNoSense) {
  const auto world = World::alone();
  const auto refusal = [](const std::string& text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  EXPECT_THAT([&] { cast_hook(torch::kInt32, all_reduce_hook(world)); }, refusal("cast_hook(Int)"));
  EXPECT_THAT([&] { int8_hook(world, 12); }, refusal("a block of 12 values"));
  EXPECT_THAT([&] { sign_hook(world, 0); }, refusal("a block of 0 values"));
  EXPECT_THAT([&] { top_k_hook(world, 0); }, refusal("top_k_hook(0)"));
  EXPECT_THAT([&] { random_k_hook(1.5, 7, all_reduce_hook(world)); }, refusal("random_k_hook(1.5)"));
  EXPECT_THAT([&] { qsgd_hook(world, 0, 7); }, refusal("0 levels"));
  EXPECT_THAT([&] { qsgd_hook(world, 128, 7); }, refusal("128 levels"));
  EXPECT_THAT([&] { qsgd_hook(world, 7, 7, 12); }, refusal("a block of 12 values"));
  EXPECT_THAT([&] { threshold_hook(world, -1); }, refusal("threshold_hook(-1)"));
  EXPECT_THAT([&] { adaptive_threshold_hook(world, 0); }, refusal("adaptive_threshold_hook(0)"));
  EXPECT_THAT([&] { power_sgd_hook(world, 0, 7); }, refusal("power_sgd_hook of rank 0"));
}

}  // namespace
}  // namespace lockstep
