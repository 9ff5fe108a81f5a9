// 1-bit Adam against Adam while it warms up, against the paper's algorithm in loops afterwards, and on MNIST.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/one_bit_adam.h>

#include <cmath>

#include "train/hooks/test_epoch.h"
#include "train/hooks/test_mnist.h"
#include "train/test_parity.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using torch::optim::AdamOptions;
using Numbers = std::vector<double>;

constexpr int kCount = 64;
constexpr int kBlock = 8;
constexpr int kWarmup = 3;
constexpr int kIterations = 12;
constexpr double kRate = 0.01;

double gradient(int rank, int iteration, int i) {
  return std::sin((i + 1) * (1.7 + rank) + 11 * rank + iteration) + 0.5 * std::cos(i);
}

enum class Fault { kNone, kNothingKeptInSending, kNothingKeptInMean, kVarianceGoesOn };

/// Signs with the mean magnitude of each block.
Numbers coded(const Numbers& numbers) {
  Numbers result(numbers.size());
  for (std::size_t block = 0; block < numbers.size(); block += kBlock) {
    double scale = 0;
    for (std::size_t i = block; i < block + kBlock; ++i) scale += std::abs(numbers[i]) / kBlock;
    for (std::size_t i = block; i < block + kBlock; ++i) result[i] = numbers[i] >= 0 ? scale : -scale;
  }
  return result;
}

/// What is sent of `numbers`, with what earlier calls lost.
Numbers sent_of(Numbers numbers, Numbers& lost, bool keep) {
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += lost[i];
  const auto sent = coded(numbers);
  for (std::size_t i = 0; keep && i < numbers.size(); ++i) lost[i] = numbers[i] - sent[i];
  return sent;
}

/// Tang et al. 2021, algorithm 1, of all ranks, with Adam's corrections of bias. Their number divides kCount.
Numbers by_the_paper(int ranks, Fault fault) {
  Numbers w(kCount), m(kCount), v(kCount), lost_in_mean(kCount);
  std::vector<Numbers> lost(ranks, Numbers(kCount));
  for (int t = 1; t <= kIterations; ++t) {
    Numbers mean(kCount);
    for (int i = 0; i < kCount; ++i) {
      for (int rank = 0; rank < ranks; ++rank) mean[i] += gradient(rank, t, i) / ranks;
    }
    if (t <= kWarmup || fault == Fault::kVarianceGoesOn) {
      for (int i = 0; i < kCount; ++i) v[i] = 0.999 * v[i] + 0.001 * mean[i] * mean[i];
    }
    if (t <= kWarmup) {
      for (int i = 0; i < kCount; ++i) m[i] = 0.9 * m[i] + 0.1 * mean[i];
    } else {
      Numbers momentum(kCount);
      for (int rank = 0; rank < ranks; ++rank) {
        Numbers own(kCount);
        for (int i = 0; i < kCount; ++i) own[i] = 0.9 * m[i] + 0.1 * gradient(rank, t, i);
        own = sent_of(own, lost[rank], fault != Fault::kNothingKeptInSending);
        for (int i = 0; i < kCount; ++i) momentum[i] += own[i] / ranks;
      }
      m = sent_of(momentum, lost_in_mean, fault != Fault::kNothingKeptInMean);
    }
    const double of_v = 1 - std::pow(0.999, fault == Fault::kVarianceGoesOn ? t : std::min(t, kWarmup));
    for (int i = 0; i < kCount; ++i) {
      w[i] -= kRate * m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / of_v) + 1e-8);
    }
  }
  return w;
}

double difference(int ranks, Fault fault) {
  double result = 0;
  test::on_ranks(ranks, [&](World& world) {
    auto parameters = std::vector<torch::Tensor>{torch::zeros({40}), torch::zeros({24})};
    OneBitAdam optimizer(world, parameters, AdamOptions(kRate), {.warmup = kWarmup, .block = kBlock});
    for (int t = 1; t <= kIterations; ++t) {
      auto flat = torch::zeros({kCount});
      for (int i = 0; i < kCount; ++i) {
        for (int rank = 0; rank < world.size(); ++rank) {
          if (t <= kWarmup) flat[i] += gradient(rank, t, i) / world.size();
        }
        if (t > kWarmup) flat[i] = gradient(world.rank(), t, i);
      }
      parameters[0].mutable_grad() = flat.narrow(0, 0, 40);
      parameters[1].mutable_grad() = flat.narrow(0, 40, 24);
      EXPECT_EQ(optimizer.compresses(), t > kWarmup);
      optimizer.step();
    }
    const auto expected = torch::tensor(by_the_paper(world.size(), fault), torch::kFloat64);
    const auto got = torch::cat(parameters).to(torch::kFloat64);
    if (world.rank() == 0) result = ((got - expected).norm() / expected.norm()).item<double>();
  });
  return result;
}

TEST(OneBitAdam, IsThePapersAlgorithm) {
  for (const int ranks : {1, 2, 4}) EXPECT_LE(difference(ranks, Fault::kNone), 1e-4) << ranks;
}

TEST(OneBitAdam, SeesEachPartThatIsLeftOut) {
  for (const auto fault : {Fault::kNothingKeptInSending, Fault::kNothingKeptInMean, Fault::kVarianceGoesOn}) {
    EXPECT_GT(difference(2, fault), 0.01) << static_cast<int>(fault);
  }
}

/// The change of the parameters after 20 iterations of ragged batches, by OneBitAdam or, in one process, Adam.
torch::Tensor trained(const test::Side& side, std::int64_t warmup) {
  const auto net = test::make_net(side.seed);
  std::optional<OneBitAdam> compressed;
  std::optional<DataParallel> replica;
  torch::optim::Adam adam(net->parameters(), AdamOptions(0.01));
  if (side.options) {
    compressed.emplace(side.group, net->parameters(), AdamOptions(0.01), OneBitAdamOptions{warmup, 64});
    replica.emplace(side.group, *net, DataParallelOptions{.communication_hook = compressed->communication_hook()});
  }
  const auto start = test::flat_parameters(*net);
  auto& optimizer = compressed ? static_cast<torch::optim::Optimizer&>(*compressed) : adam;
  const auto loader = make_loader(test::spots(), side.group, test::spots_options());
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
      optimizer.step();
    }
  }
  return test::flat_parameters(*net) - start;
}

class OneBitAdamOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, OneBitAdamOn, ::testing::Values(1, 2, 3, 4));

TEST_P(OneBitAdamOn, IsAdamWhileItWarmsUpAndTheSameOnAllRanksAfterwards) {
  const auto warm = test::parity_of([](const test::Side& side) { return trained(side, 1000); }, GetParam());
  EXPECT_LE(warm.difference, 1e-4);  // Adam divides by roots of squares that are near zero
  EXPECT_TRUE(warm.bits_equal);
  const auto compressed = test::parity_of([](const test::Side& side) { return trained(side, 10); }, GetParam());
  EXPECT_GT(compressed.difference, 1e-3);
  EXPECT_LE(compressed.difference, 1);
  EXPECT_TRUE(compressed.bits_equal);
}

struct AdamOutcome {
  double accuracy = 0;
  HookTraffic traffic;
};

/// 400 iterations on MNIST; Adam all the way with a warm-up that never ends.
AdamOutcome digits_learnt(const std::filesystem::path& folder, std::int64_t warmup) {
  const test::Digits training(folder, "train", 25600);
  const test::Digits held_back(folder, "t10k", 10000);
  AdamOutcome outcome;
  test::on_ranks(2, [&](World& world) {
    auto net = test::digit_net();
    OneBitAdam optimizer(world, net->parameters(), AdamOptions(1e-3), {.warmup = warmup});
    const DataParallel replica(world, *net, {.communication_hook = optimizer.communication_hook()});
    test::train_epoch(world, net, training, optimizer);
    if (world.rank() == 0) outcome = {test::accuracy(net, held_back), optimizer.traffic()};
  });
  return outcome;
}

TEST(OneBitAdam, LearnsDigitsAsAdamDoes) {
  const auto folder = test::mnist();
  if (folder.empty()) GTEST_SKIP() << "no MNIST: set LOCKSTEP_TEST_DATA";
  const auto adam = digits_learnt(folder, 1000);
  const auto compressed = digits_learnt(folder, 80);
  std::printf("one_bit_adam: accuracy %.4f, Adam %.4f, %.1f times fewer bytes on 2 ranks\n", compressed.accuracy,
              adam.accuracy, compressed.traffic.ratio());
  EXPECT_GT(adam.accuracy, 0.9);
  EXPECT_GE(compressed.accuracy, adam.accuracy - 0.01);
  EXPECT_GT(compressed.traffic.ratio(), 4);  // of 400 iterations 80 are dense
}

TEST(OneBitAdam, RefusesWhatMakesNoSense) {
  const auto world = World::alone();
  const auto refusal = [](const std::string& text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  const auto make = [&](AdamOptions adam, OneBitAdamOptions options, torch::ScalarType type) {
    OneBitAdam(world, {torch::zeros({4}, type)}, adam, options);
  };
  EXPECT_THAT([&] { make(AdamOptions(), {}, torch::kFloat32); }, refusal("a warm-up of 0 iterations"));
  EXPECT_THAT([&] { make(AdamOptions(), {1, 4}, torch::kFloat32); }, refusal("a block of 4 values"));
  EXPECT_THAT([&] { make(AdamOptions().amsgrad(true), {1}, torch::kFloat32); }, refusal("amsgrad"));
  EXPECT_THAT([&] { make(AdamOptions(), {1}, torch::kFloat64); }, refusal("a parameter of Double on cpu"));
}

TEST(OneBitAdam, WhatNeverHadAGradientStays) {
  auto parameters = std::vector<torch::Tensor>{torch::zeros({16})};
  OneBitAdam optimizer(World::alone(), parameters, AdamOptions(0.1), {.warmup = 1, .block = 8});
  for (int t = 0; t < 4; ++t) {
    parameters[0].mutable_grad() = torch::arange(16, torch::kFloat32).lt(8).to(torch::kFloat32);
    optimizer.step();
  }
  EXPECT_EQ(parameters[0].narrow(0, 8, 8).norm().item<double>(), 0);
  EXPECT_LT(parameters[0].narrow(0, 0, 8).max().item<double>(), -0.3);
}

}  // namespace
}  // namespace lockstep
