#include "train/sharded/scatter_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/test_model.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// Flats of two parameters of 32 floats each.
struct Flats {
  Flats(const Group& world, int count) : pool(std::make_shared<BufferPool>(world)) {
    for (int f = 0; f < count; ++f) {
      std::vector<ModuleTensor> parameters;
      for (const char* name : {"a", "b"}) {
        parameters.push_back({name + std::to_string(f), torch::zeros(32, torch::requires_grad()), true, ""});
      }
      const auto layout = cut({DataType::kFloat32, 256, {{0, 0}, {1, 128}}}, static_cast<std::size_t>(world.size()));
      flats.push_back(std::make_unique<ShardedFlat>(world, pool, layout, parameters, Keep::kWhole));
      gradients.push_back(std::make_shared<PieceGradients>(*flats.back()));
    }
  }
  std::shared_ptr<BufferPool> pool;
  std::vector<std::unique_ptr<ShardedFlat>> flats;
  std::vector<std::shared_ptr<PieceGradients>> gradients;

  /// The gradient of this rank's part of a parameter, the same in all its elements.
  double gradient(std::size_t flat, std::size_t parameter) {
    gradients[flat]->show(parameter);
    const auto& shown = flats[flat]->parameter(parameter).tensor.grad();
    EXPECT_TRUE(torch::equal(shown, shown[0].expand_as(shown)));
    return shown[0].item<double>();
  }
};

TEST(ScatterRun, LeavesInTheAgreedOrderWhateverComesFirst) {
  test::on_ranks(2, [](World& world) {
    Flats flats(world, 3);
    ScatterRun run({world, std::nullopt}, flats.pool, {.order = {2, 0, 1}}, flats.gradients);
    const std::vector<std::size_t> mine =
        world.rank() == 0 ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{2, 1, 0};
    for (const std::size_t flat : mine) {
      for (const std::size_t parameter : {0, 1}) {
        run.take(flat, parameter, torch::full(32, 10.0 * static_cast<double>(flat) + 2 * world.rank()));
        run.advance();
      }
    }
    run.complete();
    std::vector<int> left;
    for (const auto& bucket : run.report().buckets) left.push_back(bucket.index);
    EXPECT_THAT(left, ElementsAre(2, 0, 1));
    EXPECT_EQ(run.order(), mine);
    for (const std::size_t flat : {0, 1, 2}) {
      // Rank 0's half of the flat is its first parameter, rank 1's the second.
      EXPECT_EQ(flats.gradient(flat, static_cast<std::size_t>(world.rank())), 10.0 * static_cast<double>(flat) + 1);
    }
  });
}

TEST(ScatterRun, WhatARankHasNotCountsAsZero) {
  test::on_ranks(2, [](World& world) {
    Flats flats(world, 2);
    ScatterRun run({world, std::nullopt}, flats.pool, {.order = {0, 1}}, flats.gradients);
    if (world.rank() == 0) run.take(1, 0, torch::full(32, 4.0));
    run.complete();
    if (world.rank() == 0) {
      EXPECT_EQ(flats.gradient(1, 0), 2);
    }
  });
}

TEST(ScatterRun, HoldsFewBuffersAtATime) {
  test::on_ranks(2, [](World& world) {
    Flats flats(world, 12);
    ScatterRun run({world, std::nullopt}, flats.pool, {}, flats.gradients);
    for (std::size_t flat = 0; flat < 12; ++flat) {
      for (const std::size_t parameter : {0, 1}) run.take(flat, parameter, torch::ones(32));
      run.advance();
    }
    run.complete();
    EXPECT_LE(flats.pool->bytes(), 3 * 256u);
  });
}

TEST(ScatterRun, OfSeveralCopiesIsTheMeanOverAll) {
  test::on_ranks(4, [](World& world) {
    const ShardGroups groups{world.split(world.rank() / 2), world.split(world.rank() % 2)};
    Flats flats(groups.shards, 5);
    ScatterRun run(groups, flats.pool, {}, flats.gradients);
    for (std::size_t flat = 0; flat < 5; ++flat) {
      for (const std::size_t parameter : {0, 1}) run.take(flat, parameter, torch::full(32, 4.0 * world.rank()));
      run.advance();
    }
    run.complete();
    for (std::size_t flat = 0; flat < 5; ++flat) {
      EXPECT_EQ(flats.gradient(flat, static_cast<std::size_t>(groups.shards.rank())), 6);
    }
    const auto& buckets = run.report().buckets;
    ASSERT_EQ(buckets.size(), 10u);
    const auto between = [](const BucketTiming& bucket) { return bucket.operation == "all_reduce"; };
    EXPECT_EQ(std::count_if(buckets.begin(), buckets.end(), between), 5);
    for (const auto& bucket : buckets) EXPECT_EQ(bucket.bytes, between(bucket) ? 128u : 256u);
  });
}

TEST(ScatterRun, GivesItsBuffersBackWhenABackwardIsDropped) {
  test::on_ranks(2, [](World& world) {
    Flats flats(world, 1);
    for (int round = 0; round < 3; ++round) {
      ScatterRun run({world, std::nullopt}, flats.pool, {}, flats.gradients);
      run.take(0, 0, torch::ones(32));
    }
    EXPECT_EQ(flats.pool->bytes(), 256u);
  });
}

TEST(ScatterRun, RefusesAGradientThatComesAgainWhenTheFirstHasBeenSent) {
  const World world = World::alone();
  Flats flats(world, 1);
  ScatterRun run({world, std::nullopt}, flats.pool, {}, flats.gradients);
  for (const std::size_t parameter : {0, 1}) {
    run.take(0, parameter, torch::ones(32));
    run.advance();
  }
  EXPECT_THAT([&] { run.take(0, 0, torch::ones(32)); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("'a0' got a gradient twice in one backward")));
  run.complete();
  EXPECT_EQ(flats.gradient(0, 0), 1);
}

}  // namespace
}  // namespace lockstep
