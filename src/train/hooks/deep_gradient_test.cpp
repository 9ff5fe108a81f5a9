// Deep Gradient Compression against a plain reading of the paper's algorithm, in doubles and loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/hooks.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "train/test_model.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Numbers = std::vector<double>;

constexpr int kBucketSize = 64;  // of each of two buckets

/// Of a rank in an iteration: no two are the same in magnitude.
double deep_gradient_of(int rank, int iteration, int bucket, int i) {
  return std::sin((i + 1) * (1.7 + rank) + 11 * rank + 5 * bucket + iteration) + 0.3 * std::sin(i);
}

/// What is done wrong, to see that it shows.
enum class DeepFault { kNone, kNoMomentumCorrection, kNoMasking, kNoClipping, kNoWarmup };

/// Lin et al. 2018, algorithms 1 and 4, of all ranks: the mean that they get in each iteration.
class Paper {
 public:
  Paper(int ranks, const DeepGradientOptions& options, DeepFault fault)
      : ranks_(ranks),
        options_(options),
        fault_(fault),
        velocity_(ranks, Numbers(2 * kBucketSize)),
        unsent_(velocity_) {}

  Numbers iteration(int t) {
    Numbers mean(2 * kBucketSize);
    for (int rank = 0; rank < ranks_; ++rank) {
      Numbers own(2 * kBucketSize);
      for (int i = 0; i < 2 * kBucketSize; ++i) own[i] = deep_gradient_of(rank, t, i / kBucketSize, i % kBucketSize);
      const double norm = std::sqrt(std::inner_product(own.begin(), own.end(), own.begin(), 0.0));
      const double most = options_.clip_norm / std::sqrt(ranks_);
      const bool clipped = options_.clip_norm > 0 && norm > most && fault_ != DeepFault::kNoClipping;
      auto& velocity = velocity_[rank];
      auto& unsent = unsent_[rank];
      for (int i = 0; i < 2 * kBucketSize; ++i) {
        const double g = own[i] * (clipped ? most / norm : 1);
        velocity[i] = options_.momentum * velocity[i] + g;
        unsent[i] += fault_ == DeepFault::kNoMomentumCorrection ? g : velocity[i];
      }
      for (int bucket = 0; bucket < 2; ++bucket) send(rank, bucket, t, mean);
    }
    return mean;
  }

 private:
  void send(int rank, int bucket, int t, Numbers& mean) {
    std::vector<int> places(kBucketSize);
    std::iota(places.begin(), places.end(), bucket * kBucketSize);
    auto& unsent = unsent_[rank];
    const auto larger = [&unsent](int a, int b) { return std::abs(unsent[a]) > std::abs(unsent[b]); };
    std::sort(places.begin(), places.end(), larger);
    places.resize(std::max<std::size_t>(1, std::lround(fraction(t) * kBucketSize)));
    for (const int i : places) {
      mean[i] += unsent[i] / ranks_;
      unsent[i] = 0;
      if (fault_ != DeepFault::kNoMasking) velocity_[rank][i] = 0;
    }
  }
  /// Ten iterations of warm-up to 0.02: 1/4, 1/16 and 0.02 for three and a third each.
  double fraction(int t) const {
    if (options_.warmup == 0 || fault_ == DeepFault::kNoWarmup) return options_.fraction;
    return t <= 3 ? 0.25 : t <= 6 ? 0.0625 : options_.fraction;
  }

  int ranks_;
  DeepGradientOptions options_;
  DeepFault fault_;
  std::vector<Numbers> velocity_;
  std::vector<Numbers> unsent_;
};

/// The norm of the difference between what the hook gives and the paper, over 12 iterations, over that of what it
/// gives.
double difference_from_paper(int ranks, const DeepGradientOptions& options, DeepFault fault = DeepFault::kNone) {
  double result = 0;
  test::on_ranks(ranks, [&](World& world) {
    const auto hook = deep_gradient_hook(world, options);
    Paper paper(world.size(), options, fault);
    double of_difference = 0;
    double of_all = 0;
    for (int t = 0; t < 12; ++t) {
      std::vector<GradientBucket> buckets(2);
      std::vector<Pending> pending;
      for (int bucket = 0; bucket < 2; ++bucket) {
        buckets[bucket].index = bucket;
        buckets[bucket].parameters = {std::to_string(bucket)};
        buckets[bucket].flat = torch::empty({kBucketSize});
        for (int i = 0; i < kBucketSize; ++i) buckets[bucket].flat[i] = deep_gradient_of(world.rank(), t, bucket, i);
        pending.push_back(hook->reduce(buckets[bucket], nullptr));
      }
      for (auto& one : pending) one.wait();
      const auto expected = torch::tensor(paper.iteration(t), torch::kFloat64);
      const auto got = torch::cat({buckets[0].flat, buckets[1].flat}).to(torch::kFloat64);
      of_difference += (got - expected).square().sum().item<double>();
      of_all += got.square().sum().item<double>();
    }
    if (world.rank() == 0) result = std::sqrt(of_difference / of_all);
  });
  return result;
}

constexpr DeepGradientOptions kDeepOptions{.fraction = 0.02, .warmup = 10, .clip_norm = 4};

class DeepGradient : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, DeepGradient, ::testing::Values(1, 2, 3, 4));

TEST_P(DeepGradient, IsThePapersAlgorithm) {
  EXPECT_LE(difference_from_paper(GetParam(), {.fraction = 0.1}), 1e-5);
  EXPECT_LE(difference_from_paper(GetParam(), kDeepOptions), 1e-5);
}

TEST(DeepGradientTest, SeesEachPartThatIsLeftOut) {
  for (const auto fault :
       {DeepFault::kNoMomentumCorrection, DeepFault::kNoMasking, DeepFault::kNoClipping, DeepFault::kNoWarmup}) {
    EXPECT_GT(difference_from_paper(2, kDeepOptions, fault), 0.01) << static_cast<int>(fault);
  }
}

/// What part of 100,000 values is sent in each iteration.
std::vector<double> sent_by(BucketHook& hook, int iterations) {
  std::vector<double> sent;
  for (int t = 0; t < iterations; ++t) {
    GradientBucket bucket;
    bucket.flat = torch::randn({100000});
    const double before = hook.traffic().sent_bytes;
    hook.reduce(bucket, nullptr).wait();
    sent.push_back((hook.traffic().sent_bytes - before) / 8 / 100000);
  }
  return sent;
}

TEST(DeepGradientTest, WarmsUpAsThePaperDoes) {
  test::on_ranks(2, [](World& world) {
    EXPECT_THAT(
        sent_by(*deep_gradient_hook(world, {.warmup = 10}), 12),
        ::testing::Pointwise(::testing::DoubleNear(1e-5), {0.25, 0.25, 0.0625, 0.0625, 0.015625, 0.015625, 0.00390625,
                                                           0.00390625, 0.001, 0.001, 0.001, 0.001}));
  });
}

TEST(DeepGradientTest, GoesOnWithTheWarmUpOfATrainingThatIsResumed) {
  test::on_ranks(2, [](World& world) {
    EXPECT_THAT(sent_by(*deep_gradient_hook(world, {.warmup = 10, .done = 5}), 4),
                ::testing::Pointwise(::testing::DoubleNear(1e-5), {0.015625, 0.00390625, 0.00390625, 0.001}));
    EXPECT_THAT(sent_by(*deep_gradient_hook(world, {.warmup = 10, .done = 10}), 1),
                ::testing::Pointwise(::testing::DoubleNear(1e-5), {0.001}));
  });
}

TEST(DeepGradientTest, RefusesWhatMakesNoSense) {
  const auto world = World::alone();
  const auto refusal = [](const std::string& text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  EXPECT_THAT([&] { deep_gradient_hook(world, {.fraction = 0}); }, refusal("deep_gradient_hook(0)"));
  EXPECT_THAT([&] { deep_gradient_hook(world, {.momentum = 1}); }, refusal("the momentum is 1"));
  EXPECT_THAT([&] { deep_gradient_hook(world, {.warmup = -1}); }, refusal("a warm-up of -1"));
  EXPECT_THAT([&] { deep_gradient_hook(world, {.clip_norm = -1}); }, refusal("clip_norm is -1"));
  EXPECT_THAT([&] { deep_gradient_hook(world, {.done = -1}); }, refusal("-1 iterations are done"));
  GradientBucket bucket;
  bucket.flat = torch::ones({8});
  EXPECT_THAT([&] { error_feedback(deep_gradient_hook(world))->reduce(bucket, nullptr).wait(); },
              refusal("use it alone"));
  bucket.flat = torch::ones({8}, torch::kFloat64);
  EXPECT_THAT([&] { deep_gradient_hook(world)->reduce(bucket, nullptr).wait(); }, refusal("bucket 0 holds Double"));
}

}  // namespace
}  // namespace lockstep
