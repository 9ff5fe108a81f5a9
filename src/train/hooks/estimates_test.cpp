// QSGD gives the right mean with the variance of the paper, and fitted thresholds leave about what was asked for.
#include <gtest/gtest.h>
#include <lockstep/hooks.h>

#include <cmath>

#include "train/test_model.h"

namespace lockstep {
namespace {

GradientBucket bucket_of(const torch::Tensor& numbers) {
  GradientBucket bucket;
  bucket.flat = numbers.clone();
  bucket.parameters = {"numbers"};
  bucket.gradients = {bucket.flat};
  bucket.last = true;
  return bucket;
}

struct Rounding {
  int levels;
  std::int64_t bucket;
};

class Qsgd : public ::testing::TestWithParam<Rounding> {};
INSTANTIATE_TEST_SUITE_P(Levels, Qsgd,
                         ::testing::Values(Rounding{1, 16}, Rounding{3, 64}, Rounding{7, 512}, Rounding{127, 512}));

/// Lemma 3.1 of the paper: E[Q(v)] = v and E|Q(v) - v|^2 <= min(d / s^2, sqrt(d) / s) |v|^2.
TEST_P(Qsgd, IsUnbiasedWithThePapersVariance) {
  constexpr int kDraws = 400;
  const auto [levels, length] = GetParam();
  const auto values = torch::sin(torch::arange(1024, torch::kFloat32) * 1.7);
  const auto hook = qsgd_hook(World::alone(), levels, 7, length);
  auto sum = torch::zeros_like(values);
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto bucket = bucket_of(values);
    hook->reduce(bucket, nullptr).wait();
    sum += bucket.flat;
    squares += (bucket.flat - values).square().sum().item<double>();
  }
  const double norm2 = values.square().sum().item<double>();
  const double s = levels;
  const auto d = static_cast<double>(length);
  const double bound = std::min(d / (s * s), std::sqrt(d) / s);
  EXPECT_LE(squares / kDraws, bound * norm2);
  // The mean of the draws is within four times its standard deviation of the value.
  EXPECT_LE((sum / kDraws - values).norm().item<double>(), 4 * std::sqrt(bound * norm2 / kDraws));
  // Rounding to the nearest level instead is biased: values below half a level never move.
  EXPECT_LT((sum / kDraws - values).abs().max().item<double>(), 4 * std::sqrt(d) / s / std::sqrt(kDraws));
}

TEST(Qsgd, RanksDrawEachForItself) {
  test::on_ranks(4, [](World& world) {
    const auto values = torch::sin(torch::arange(4096, torch::kFloat32) * 1.7);
    const auto bucket = bucket_of(values);
    torch::Tensor own;
    qsgd_hook(world, 7, 7)->reduce(bucket, &own).wait();
    const double of_one = (own - values).norm().item<double>();
    const double of_the_mean = (bucket.flat - values).norm().item<double>();
    EXPECT_NEAR(of_the_mean / of_one, 0.5, 0.05);  // 1 / sqrt(4): had they drawn alike, 1
  });
}

/// The fraction of values that a rank of two sends.
double sent_fraction(const torch::Tensor& numbers, double wanted) {
  double fraction = 0;
  test::on_ranks(2, [&](World& world) {
    const auto hook = adaptive_threshold_hook(world, wanted);
    hook->reduce(bucket_of(numbers), nullptr).wait();
    if (world.rank() == 0) fraction = (hook->traffic().sent_bytes - 8) / 8 / static_cast<double>(numbers.numel());
  });
  return fraction;
}

TEST(AdaptiveThreshold, LeavesAboutTheFractionOfAnyDistribution) {
  torch::manual_seed(7);
  constexpr std::int64_t kCount = 1 << 18;
  const auto normal = torch::randn({kCount});
  const auto exponential = -torch::log(1 - torch::rand({kCount}));  // of a Laplace distribution's magnitudes
  const auto heavy = normal.pow(3);
  const auto mostly_zero = normal * torch::rand({kCount}).lt(0.1);
  for (const double wanted : {0.1, 0.01, 0.001}) {
    for (const auto& numbers : {normal, exponential, heavy, mostly_zero, normal * 1e-6}) {
      EXPECT_NEAR(sent_fraction(numbers, wanted) / wanted, 1, 0.35) << wanted;
    }
  }
  // One fit of an exponential to all magnitudes, without the further stages, is far off where tails are not
  // exponential.
  const auto magnitudes = heavy.abs();
  const double one_fit = magnitudes.mean().item<double>() * std::log(1 / 0.001);
  EXPECT_GT(magnitudes.gt(one_fit).to(torch::kFloat64).mean().item<double>() / 0.001, 3);
}

TEST(AdaptiveThreshold, OfNothingAndOfEqualValues) {
  EXPECT_EQ(sent_fraction(torch::zeros({256}), 0.1), 0);
  test::on_ranks(2, [](World& world) {
    const auto bucket = bucket_of(torch::ones({256}));
    const auto hook = error_feedback(adaptive_threshold_hook(world, 0.1));
    hook->reduce(bucket, nullptr).wait();
    EXPECT_TRUE(torch::isfinite(bucket.flat).all().item<bool>());
  });
}

}  // namespace
}  // namespace lockstep
