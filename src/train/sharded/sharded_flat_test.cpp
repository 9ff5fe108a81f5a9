#include "train/sharded/sharded_flat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/test_model.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

/// A matrix, channels_last images' weights and a vector, 0, 1, 2, ... each.
struct Three {
  std::vector<ModuleTensor> parameters;
  Three() {
    const auto counting = [](std::vector<std::int64_t> shape) {
      auto tensor = torch::zeros(shape);
      return tensor.copy_(torch::arange(tensor.numel(), torch::kFloat32).view(shape));
    };
    add("matrix", counting({5, 7}));
    add("images", counting({2, 3, 4, 4}).contiguous(torch::MemoryFormat::ChannelsLast));
    add("vector", counting({33}));
  }
  void add(const std::string& name, const torch::Tensor& tensor) {
    parameters.push_back({name, tensor.requires_grad_(), true, ""});
  }
  FlatLayout layout(int ranks) const {
    return cut({DataType::kFloat32, 768, {{0, 0}, {1, 192}, {2, 576}}}, static_cast<std::size_t>(ranks));
  }
};

class FlatOn : public ::testing::TestWithParam<std::tuple<int, Keep>> {};
INSTANTIATE_TEST_SUITE_P(Ranks, FlatOn,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4),
                                            ::testing::Values(Keep::kWhole, Keep::kPiece)));

TEST_P(FlatOn, GatherBringsBackWhatReleaseTook) {
  const auto& [ranks, keep] = GetParam();
  test::on_ranks(ranks, [ranks = ranks, keep = keep](World& world) {
    const Three expected;
    Three three;
    const auto pool = std::make_shared<BufferPool>(world);
    ShardedFlat flat(world, pool, three.layout(ranks), three.parameters, keep);
    flat.store();
    for (int round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_TRUE(torch::equal(three.parameters[i].tensor, expected.parameters[i].tensor));
        EXPECT_EQ(three.parameters[i].tensor.strides(), expected.parameters[i].tensor.strides());
      }
      flat.release();
      std::vector<std::int64_t> counts;
      for (const auto& parameter : three.parameters) counts.push_back(parameter.tensor.numel());
      world.all_reduce(buffer_of(counts)).wait();
      EXPECT_THAT(counts, ElementsAre(35, 96, 33));
      flat.begin_gather();
      flat.finish_gather();
    }
  });
}

TEST_P(FlatOn, WhatIsWrittenToPiecesIsGathered) {
  const auto& [ranks, keep] = GetParam();
  test::on_ranks(ranks, [ranks = ranks, keep = keep](World& world) {
    Three three;
    const auto pool = std::make_shared<BufferPool>(world);
    ShardedFlat flat(world, pool, three.layout(ranks), three.parameters, keep);
    flat.store();
    flat.release();
    {
      torch::NoGradGuard no_grad;
      for (auto& parameter : three.parameters) parameter.tensor.add_(1000);
    }
    flat.begin_gather();
    flat.finish_gather();
    const Three before;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(torch::equal(three.parameters[i].tensor, before.parameters[i].tensor + 1000));
    }
  });
}

TEST(ShardedFlat, ReleasedMemoryServesTheNext) {
  const auto world = World::alone();
  Three one;
  Three two;
  const auto pool = std::make_shared<BufferPool>(world);
  ShardedFlat first(world, pool, one.layout(1), one.parameters, Keep::kPiece);
  first.store();
  first.release();
  ShardedFlat second(world, pool, two.layout(1), two.parameters, Keep::kPiece);
  EXPECT_EQ(pool->bytes(), 768u);
}

TEST(ShardedFlat, WhatAutogradSavedFollowsTheMemory) {
  const auto world = World::alone();
  Three three;
  const auto pool = std::make_shared<BufferPool>(world);
  ShardedFlat flat(world, pool, three.layout(1), three.parameters, Keep::kPiece);
  flat.store();
  const auto& matrix = three.parameters[0].tensor;
  const auto input = torch::ones({2, 7}, torch::requires_grad());
  auto output = torch::matmul(input, matrix.t());
  EXPECT_TRUE(flat.is_held_elsewhere());
  flat.release();
  const RegisteredMemory taken = pool->take(768);  // the gather has to take another one
  flat.begin_gather();
  flat.finish_gather();
  output.sum().backward();
  EXPECT_TRUE(torch::equal(input.grad()[0], matrix.detach().sum(0)));
  output = torch::Tensor();
  EXPECT_FALSE(flat.is_held_elsewhere());
}

TEST(ShardedFlat, IsCalledByItsParameters) {
  const auto world = World::alone();
  Three three;
  ShardedFlat flat(world, std::make_shared<BufferPool>(world), three.layout(1), three.parameters, Keep::kWhole);
  flat.rename(0, "layer.matrix");
  EXPECT_EQ(flat.names(), "layer.matrix, images, vector");
}

}  // namespace
}  // namespace lockstep
