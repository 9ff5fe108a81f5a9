#include "train/buffer_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "train/test_model.h"

namespace lockstep {
namespace {

using test::on_ranks;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A parameter, and buffers that each rank sets by itself.
struct Counting : torch::nn::Module {
  torch::Tensor weight = register_parameter("weight", torch::zeros({2}));
  torch::Tensor mean = register_buffer("mean", torch::zeros({2, 3}).t());
  torch::Tensor seen = register_buffer("seen", torch::zeros({}, torch::kInt64));
  torch::Tensor loss(double value) {
    mean.fill_(value);
    seen.fill_(static_cast<std::int64_t>(value));
    return weight.sum() * value;
  }
  double mean_value() const { return mean[1][1].item<double>(); }
};

TEST(BufferSync, OnceLeavesToEachRankWhatIsIts) {
  on_ranks(3, [](World& world) {
    Counting model;
    const DataParallel replica(world, model);
    model.loss(world.rank()).backward();
    EXPECT_EQ(model.mean_value(), world.rank());
    EXPECT_EQ(model.seen.item<int>(), world.rank());
  });
}

TEST(BufferSync, BroadcastGivesRankZeros) {
  on_ranks(3, [](World& world) {
    Counting model;
    DataParallel replica(world, model, {.buffers = BufferSync::kBroadcast});
    for (int iteration = 0; iteration < 2; ++iteration) {
      {
        const auto quiet = replica.pause();
        model.loss(world.rank()).backward();
        EXPECT_EQ(model.mean_value(), world.rank());
      }
      model.loss(5 + world.rank()).backward();
      EXPECT_EQ(model.mean_value(), 5);
      EXPECT_EQ(model.mean.max().item<float>(), 5);
      EXPECT_EQ(model.seen.item<int>(), 5);
    }
  });
}

TEST(BufferSync, MeanWeighsBySamples) {
  on_ranks(3, [](World& world) {
    Counting model;
    DataParallel replica(world, model, {.buffers = BufferSync::kMean});
    model.loss(3 * world.rank()).backward();
    EXPECT_EQ(model.mean_value(), 3);
    EXPECT_EQ(model.seen.item<int>(), 0);
    replica.samples(world.rank());  // 0, 1 and 2; what a rank without samples has may be nonsense
    auto loss = model.loss(3 * world.rank());
    if (world.rank() == 0) model.mean.fill_(std::numeric_limits<double>::quiet_NaN());
    loss.backward();
    EXPECT_NEAR(model.mean_value(), (1 * 3 + 2 * 6) / 3.0, 1e-6);
  });
}

TEST(BufferSync, TakesTheBuffersOfEachKindOfModel) {
  on_ranks(2, [](World& world) {
    const auto buffer = torch::full({2}, 1.0 + world.rank());
    const auto weight = torch::zeros({2}, torch::requires_grad());
    DataParallel replica(world, NamedTensors{{"weight", weight}, {"buffer", buffer}}, {.buffers = BufferSync::kMean});
    EXPECT_EQ(buffer[0].item<float>(), 1);
    buffer.fill_(world.rank());
    weight.sum().backward();
    EXPECT_EQ(buffer[0].item<float>(), 0.5);
  });
}

TEST(BufferSync, RanksMustAskForTheSame) {
  on_ranks(2, [](World& world) {
    Counting model;
    const auto make = [&] {
      DataParallel(world, model, {.buffers = world.rank() == 0 ? BufferSync::kOnce : BufferSync::kMean});
    };
    EXPECT_THAT(make, ThrowsMessage<Error>(HasSubstr("'option buffers'")));
  });
}

}  // namespace
}  // namespace lockstep
