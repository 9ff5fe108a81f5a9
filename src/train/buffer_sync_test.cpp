#include "train/buffer_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "train/test_parity.h"

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

// --- beside one process ---

/// What one forward leaves in a buffer that the next one computes with.
using Remember = std::function<torch::Tensor(const torch::Tensor& features, const torch::Tensor& before, double seen,
                                             std::uint64_t seed)>;

struct Remembering : torch::nn::Module {
  torch::nn::Linear layer = register_module("layer", torch::nn::Linear(36, 3));
  torch::Tensor kept = register_buffer("kept", torch::zeros({36}));
  torch::Tensor seen = register_buffer("seen", torch::zeros({}, torch::kInt64));
};

/// Trains, and returns the changes of parameters and buffers.
test::Training remembering(const Remember& remember) {
  return [remember](const test::Side& side) {
    const auto net = test::seeded(side.seed, [] { return std::make_shared<Remembering>(); });
    const auto replica = side.replicate(*net);
    const auto start = test::flat_parameters(*net);
    torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
    const auto loader = make_loader(test::spots(), side.group, test::spots_options());
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (auto& batch : loader->epoch()) {
        optimizer.zero_grad();
        const auto features = batch.data.flatten(1);
        const auto loss = torch::nn::functional::cross_entropy(net->layer(features - net->kept), batch.target);
        net->kept.copy_(remember(features, net->kept, net->seen.item<double>(), side.seed));
        net->seen.add_(1);
        loss.backward();
        optimizer.step();
      }
    }
    return torch::cat({test::flat_parameters(*net) - start, net->kept, net->seen.to(torch::kFloat32).view({1})});
  };
}

struct SyncedBuffers {
  const char* name;
  BufferSync how;
  Remember remember;
};
void PrintTo(const SyncedBuffers& buffers, std::ostream* out) { *out << buffers.name; }

class BuffersOn : public ::testing::TestWithParam<SyncedBuffers> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds, BuffersOn,
    ::testing::Values(
        // A running mean of the samples, of which each rank has its own.
        SyncedBuffers{"Mean", BufferSync::kMean,
                      [](const torch::Tensor& features, const torch::Tensor& before, double, std::uint64_t) {
                        return before * 0.8 + features.mean(0) * 0.2;
                      }},
        // Numbers that each rank draws by itself, and rank 0 as the one process does.
        SyncedBuffers{"Broadcast", BufferSync::kBroadcast,
                      [](const torch::Tensor&, const torch::Tensor& before, double seen, std::uint64_t seed) {
                        return torch::sin(torch::arange(before.numel(), torch::kFloat32) * (1.0 + seen) +
                                          static_cast<double>(seed));
                      }}),
    [](const auto& test) { return test.param.name; });

TEST_P(BuffersOn, AnyNumberOfRanksTrainAsOneProcess) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const auto result = test::parity_of(remembering(GetParam().remember), ranks, {.buffers = GetParam().how});
    EXPECT_LE(result.difference, test::kParityTolerance) << ranks << " ranks";
    EXPECT_TRUE(result.bits_equal) << ranks << " ranks";
  }
}

TEST_P(BuffersOn, ParityFailsWhenEachRankKeepsItsOwnOrTheMeanIsOfOthers) {
  const auto own = test::parity_of(remembering(GetParam().remember), 3, {.buffers = BufferSync::kOnce});
  EXPECT_FALSE(own.bits_equal);
  const auto other = GetParam().how == BufferSync::kMean ? BufferSync::kBroadcast : BufferSync::kMean;
  EXPECT_GT(test::parity_of(remembering(GetParam().remember), 3, {.buffers = other}).difference,
            100 * test::kParityTolerance);
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
