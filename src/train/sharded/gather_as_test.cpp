// Gathers that carry fewer bits: what training makes of it, and what the wire carries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

#include "group/thread_world.h"
#include "train/hooks/test_mnist.h"
#include "train/sharded/sharding_training.h"

namespace lockstep {
namespace {

using test::relative_difference;
using test::ShardedTraining;
using test::train_alone;
using test::train_on;

class GatherAsOn : public ::testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Stage, GatherAsOn,
                         ::testing::Combine(::testing::Values(1, 2, 3), ::testing::Values(1, 2, 3, 4)),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_on_" +
                                  std::to_string(std::get<1>(test.param));
                         });

/// A last bit of a sum tips some value over to bfloat16's next one, 65,536 times as far: hence no 1e-5.
constexpr double kRoundedTolerance = 1e-4;

TEST_P(GatherAsOn, Bfloat16IsWhatOneProcessDoesThatComputesWithRoundedParameters) {
  const auto& [stage, ranks] = GetParam();
  const ShardedTraining what{.optimizer = "SGD", .gather_as = GatherAs::kBfloat16};
  const auto expected = train_alone(what);
  const auto changes = train_on(ranks, stage, what);
  for (const auto& change : changes) {
    EXPECT_LE(relative_difference(change, expected), kRoundedTolerance);
    EXPECT_TRUE(torch::equal(change, changes[0]));
  }
  EXPECT_GT(relative_difference(train_alone({.optimizer = "SGD"}), expected), 10 * kRoundedTolerance)
      << "a planted mistake: nothing is rounded";
}

TEST_P(GatherAsOn, Int8StaysNearAndRanksTogether) {
  const auto& [stage, ranks] = GetParam();
  const auto expected = train_alone({.optimizer = "SGD"});
  const auto changes = train_on(ranks, stage, {.optimizer = "SGD", .gather_as = GatherAs::kInt8Blocks});
  EXPECT_LE(relative_difference(changes[0], expected), 0.1);
  EXPECT_GT(relative_difference(changes[0], expected), 1e-4) << "nothing was coded";
  for (const auto& change : changes) EXPECT_TRUE(torch::equal(change, changes[0]));
}

TEST(GatherAs, Bfloat16GivesTheSameCanonicalBitsAtEveryStage) {
  ::setenv("LOCKSTEP_REDUCTION", "canonical", 1);
  const ShardedTraining what{.optimizer = "AdamW", .gather_as = GatherAs::kBfloat16};
  const auto expected = train_on(3, 1, what)[0];
  for (int stage = 2; stage <= 3; ++stage) EXPECT_TRUE(torch::equal(train_on(3, stage, what)[0], expected)) << stage;
  ::unsetenv("LOCKSTEP_REDUCTION");
}

TEST(GatherAs, TheOptimizerKeepsWhatTheWireLoses) {
  test::on_ranks(2, [](World& world) {
    for (int stage = 1; stage <= 2; ++stage) {
      test::Vectors model({"a"}, 48);
      Sharded shard(world, model, {.stage = stage, .gather_as = GatherAs::kBfloat16});
      torch::optim::SGD optimizer(model.parameters(), 1e-4);
      for (int i = 0; i < 100; ++i) {
        optimizer.zero_grad();
        model.loss({"a"}, i == 0 ? 1e4 : 1)
            .backward();  // to -1, and then by less than bfloat16 has between -1 and -1.0078
        shard.step(optimizer);
      }
      const auto rounded = torch::full(48, -1.0099).to(torch::kBFloat16).to(torch::kFloat32);
      EXPECT_TRUE(torch::equal(model["a"], rounded)) << model["a"];
      {
        const auto whole = shard.gather();
        EXPECT_TRUE(torch::allclose(model["a"], torch::full(48, -1.0099), 1e-5)) << model["a"];
      }
      EXPECT_TRUE(torch::equal(model["a"], rounded)) << "after gather()";
    }
  });
}

TEST(GatherAs, WhatIsWrittenBesideGatherIsRefusedAndNotLost) {
  test::on_ranks(2, [](World& world) {
    for (const auto as : {GatherAs::kBfloat16, GatherAs::kInt8Blocks}) {
      test::Vectors model({"a"}, 48);
      Sharded shard(world, model, {.stage = 2, .gather_as = as});
      torch::optim::SGD optimizer(model.parameters(), 1e-3);
      const auto write = [&] {
        const torch::NoGradGuard no_grad;
        model["a"].copy_(torch::arange(48) * 1.001);
      };
      {
        const auto whole = shard.gather();
        write();
      }
      model.loss({"a"}, 1).backward();
      shard.step(optimizer);
      write();
      EXPECT_THAT([&] { shard.step(optimizer); },
                  ::testing::ThrowsMessage<Error>(::testing::HasSubstr("a: somebody wrote to them")));
    }
  });
}

/// Bytes that one rank sends in the gathers of an iteration.
double gathered_bytes(int ranks, int stage, GatherAs as) {
  double bytes = 0;
  detail::run_threads_over_tcp(ranks, [&](World& world) {
    at::set_num_threads(1);
    const auto net = test::make_net(1);
    Sharded shard(world, {.stage = stage, .gather_as = as});
    std::unique_ptr<test::BlockNet> blocks;
    if (stage == 3) blocks = std::make_unique<test::BlockNet>(*net, shard);
    blocks ? shard.attach(*blocks) : shard.attach(*net);
    torch::optim::SGD optimizer(blocks ? blocks->parameters() : net->parameters(), 0.1);
    const auto images = torch::ones({1, 1, 6, 6});
    (blocks ? blocks->forward(images) : net->forward(images)).sum().backward();
    shard.step(optimizer);
    if (world.rank() != 0) return;
    for (const BucketTiming& timing : shard.report().buckets) {
      if (timing.operation == "all_gather") bytes += static_cast<double>(timing.wire_bytes);
    }
  });
  return bytes;
}

TEST(GatherAs, TheWireCarriesHalfOfItOrLittleMoreThanAQuarter) {
  for (const int ranks : {2, 4}) {
    for (const int stage : {1, 2, 3}) {
      const double all = gathered_bytes(ranks, stage, GatherAs::kFloat32);
      EXPECT_GT(all, 0);
      EXPECT_DOUBLE_EQ(gathered_bytes(ranks, stage, GatherAs::kBfloat16), all / 2) << stage;
      const double coded = gathered_bytes(ranks, stage, GatherAs::kInt8Blocks);
      EXPECT_GE(coded, all * 17 / 64) << stage;
      EXPECT_LE(coded, all * 17 / 64 * 1.05) << "a piece's last block has a scale too; stage " << stage;
    }
  }
}

/// The accuracy on 10,000 digits after 12,800 others in batches of 64.
double accuracy_after(const std::filesystem::path& folder, int stage, GatherAs as) {
  const test::Digits training(folder, "train", 12800);
  const test::Digits held_back(folder, "t10k", 10000);
  double accuracy = 0;
  test::on_ranks(2, [&](World& world) {
    const auto plain = test::digit_net();
    Sharded shard(world, {.stage = stage, .gather_as = as});
    torch::nn::Sequential net(shard.wrap(torch::nn::Linear(plain->ptr<torch::nn::LinearImpl>(0))), torch::nn::ReLU(),
                              shard.wrap(torch::nn::Linear(plain->ptr<torch::nn::LinearImpl>(2))));
    shard.attach(*net);
    torch::optim::Adam optimizer(net->parameters(), 1e-3);
    const auto loader = make_loader(training, world, {.global_batch = 64, .seed = 5});
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
      shard.step(optimizer);
    }
    const double mine = test::accuracy(net, held_back);
    if (world.rank() == 0) accuracy = mine;
  });
  return accuracy;
}

TEST(GatherAs, LearnsDigitsAsWellAsWithFloat32) {
  const auto folder = test::mnist();
  if (folder.empty()) GTEST_SKIP() << "LOCKSTEP_TEST_DATA names no folder with mnist/";
  for (const int stage : {2, 3}) {
    const double plain = accuracy_after(folder, stage, GatherAs::kFloat32);
    EXPECT_GT(plain, 0.88);
    EXPECT_NEAR(accuracy_after(folder, stage, GatherAs::kBfloat16), plain, 0.005) << "stage " << stage;
    EXPECT_NEAR(accuracy_after(folder, stage, GatherAs::kInt8Blocks), plain, 0.01) << "stage " << stage;
  }
}

}  // namespace
}  // namespace lockstep
