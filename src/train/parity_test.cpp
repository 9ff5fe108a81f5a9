// One training on one process and on several, the same to rounding: and the check that says so fails when it should.
#include <gtest/gtest.h>

#include "train/test_parity.h"

namespace lockstep {
namespace {

using test::make_net;
using test::tampering;
using test::train_small_net;

test::Parity parity(int ranks, const DataParallelOptions& options = {}, const test::MakeHook& make_hook = nullptr) {
  const auto train = [](const test::Side& side) {
    const auto net = make_net(side.seed);
    const auto replica = side.replicate(*net);
    return train_small_net(*net, side.group);
  };
  return test::parity_of(train, ranks, options, make_hook);
}

class ParityOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, ParityOn, ::testing::Values(1, 2, 3, 4));

TEST_P(ParityOn, SameTrainingAsOneProcess) {
  const auto result = parity(GetParam());
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST_P(ParityOn, SameWithManySmallBuckets) {
  const auto result = parity(GetParam(), {.first_bucket_bytes = 256, .bucket_bytes = 1024});
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST_P(ParityOn, SameWithBucketsOfAPickedSize) {
  const auto result = parity(GetParam(), {.bucket_bytes = kAuto});
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST_P(ParityOn, SameWithoutOverlapAndRebuilding) {
  const auto result = parity(GetParam(), {.overlap = false, .rebuild_buckets = false});
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST(Parity, HookThatTampersWithNothingPasses) {
  EXPECT_LE(parity(3, {}, tampering([](int, torch::Tensor&) {})).difference, test::kParityTolerance);
}

TEST(Parity, FailsWhenARanksGradientIsDropped) {
  const auto drop = [](int rank, torch::Tensor& flat) {
    if (rank == 1) flat.zero_();
  };
  EXPECT_GT(parity(3, {}, tampering(drop)).difference, 100 * test::kParityTolerance);
}

TEST(Parity, FailsWhenARanksGradientIsCountedTwice) {
  const auto twice = [](int rank, torch::Tensor& flat) {
    if (rank == 1) flat.mul_(2);
  };
  EXPECT_GT(parity(3, {}, tampering(twice)).difference, 100 * test::kParityTolerance);
}

TEST(Parity, FailsWhenGradientsAreSummed) {
  EXPECT_GT(parity(3, {}, tampering([](int, torch::Tensor&) {}, ReduceOp::kSum)).difference,
            100 * test::kParityTolerance);
}

TEST(Parity, FailsWhenOneRankKeepsItsOwnGradients) {
  test::on_ranks(2, [](World& world) {
    const auto net = make_net(1);
    const auto change = train_small_net(*net, world);  // no DataParallel: each rank trains on its own share
    std::vector<float> sums{change.sum().item<float>(), change.sum().item<float>()};
    world.all_gather(buffer_of(sums)).wait();
    EXPECT_NE(sums[0], sums[1]);
  });
}

/// Two backward passes an update, of ragged micro-batches. Ranks may forget what they computed under pause: a planted
/// mistake.
torch::Tensor train_accumulating(const test::Side& side, bool forgets) {
  const auto net = make_net(side.seed);
  auto replica = side.replicate(*net);
  const auto start = test::flat_parameters(*net);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const auto loader = make_loader(test::spots(), side.group, test::spots_options());
  const auto backward = [&net](Batch& batch) {
    torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
  };
  for (int epoch = 0; epoch < 5; ++epoch) {
    int micro_batch = 0;
    for (auto& batch : loader->epoch()) {
      if (micro_batch++ % 2 == 0) {
        optimizer.zero_grad();
        if (replica) {
          const auto quiet = replica->pause();
          backward(batch);
          if (forgets) optimizer.zero_grad();
        } else {
          backward(batch);
        }
      } else {
        backward(batch);
        optimizer.step();
      }
    }
  }
  return test::flat_parameters(*net) - start;
}

test::Parity accumulating_parity(int ranks, bool forgets = false, const test::MakeHook& make_hook = nullptr) {
  const auto train = [forgets](const test::Side& side) { return train_accumulating(side, forgets); };
  return test::parity_of(train, ranks, {}, make_hook);
}

TEST_P(ParityOn, SameWhenAccumulatingUnderPause) {
  const auto result = accumulating_parity(GetParam());
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST(Parity, WhenAccumulatingFailsWhenAGradientIsDropped) {
  EXPECT_GT(accumulating_parity(3, false, test::dropping_the_last_rank()).difference, 100 * test::kParityTolerance);
  EXPECT_GT(accumulating_parity(3, /*forgets=*/true).difference, 100 * test::kParityTolerance);
}

}  // namespace
}  // namespace lockstep
