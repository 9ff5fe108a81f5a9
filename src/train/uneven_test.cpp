// Ranks with different numbers of batches train as one process does that has all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/uneven.h>

#include "train/test_errors.h"
#include "train/test_parity.h"

namespace lockstep {
namespace {

using test::make_net;
using test::SmallNet;
using testing::HasSubstr;

/// Batch `i` of rank `r` has 3 + r samples; rank r has 5 - r batches.
int batches_of(int rank) { return 5 - rank; }

torch::data::Example<> batch_of(int rank, int i) {
  auto samples = test::spots();
  std::vector<torch::data::Example<>> examples;
  for (int k = 0; k < 3 + rank; ++k) examples.push_back(samples.get(static_cast<std::size_t>(rank * 11 + i * 5 + k)));
  return detail::stack(std::move(examples));
}

std::vector<torch::data::Example<>> own_batches(int rank) {
  std::vector<torch::data::Example<>> batches;
  for (int i = 0; i < batches_of(rank); ++i) batches.push_back(batch_of(rank, i));
  return batches;
}

/// All ranks' batches `i` as one.
torch::data::Example<> joint_batch(int ranks, int i) {
  std::vector<torch::Tensor> data;
  std::vector<torch::Tensor> targets;
  for (int rank = 0; rank < ranks && i < batches_of(rank); ++rank) {
    const auto batch = batch_of(rank, i);
    data.push_back(batch.data);
    targets.push_back(batch.target);
  }
  return {torch::cat(data), torch::cat(targets)};
}

/// Two epochs; `accumulate` batches make an update.
struct Trainer {
  SmallNet& net;
  DataParallel* replica;
  int accumulate;
  torch::optim::SGD optimizer{net.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9)};
  int done = 0;

  void see(const torch::data::Example<>& batch) {
    if (done % accumulate == 0) optimizer.zero_grad();
    ++done;
    const auto loss = torch::nn::functional::cross_entropy(net.forward(batch.data), batch.target);
    if (done % accumulate != 0 && replica) {
      const auto quiet = replica->pause();
      loss.backward();
    } else {
      loss.backward();
    }
    if (done % accumulate == 0) optimizer.step();
  }
};

test::Parity parity(int ranks, int accumulate, const test::MakeHook& make_hook = nullptr) {
  const auto train = [&](const test::Side& side) {
    const auto net = make_net(side.seed);
    auto replica = side.replicate(*net);
    const auto start = test::flat_parameters(*net);
    Trainer trainer{*net, replica ? &*replica : nullptr, accumulate};
    for (int epoch = 0; epoch < 2; ++epoch) {
      if (replica) {
        auto batches = own_batches(side.group.rank());
        for (auto& batch : join_batches(side.group, batches)) trainer.see(batch);
      } else {
        for (int i = 0; i < batches_of(0); ++i) trainer.see(joint_batch(ranks, i));
      }
    }
    return test::flat_parameters(*net) - start;
  };
  return test::parity_of(train, ranks, {}, make_hook);
}

class UnevenOn : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, UnevenOn, testing::Values(1, 2, 3, 4));

TEST_P(UnevenOn, SameTrainingAsOneProcessWithAllBatches) {
  const auto result = parity(GetParam(), 1);
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST_P(UnevenOn, SameWhenAccumulating) {
  const auto result = parity(GetParam(), 2);
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST(Uneven, FailsWhenARankIsDropped) {
  for (const int accumulate : {1, 2}) {
    EXPECT_GT(parity(3, accumulate, test::dropping_the_last_rank()).difference, 100 * test::kParityTolerance)
        << accumulate << " batches an update";
  }
}

TEST(Uneven, TellsTheWeightsAndForgetsThem) {
  test::on_ranks(2, [](World& world) {
    test::Vectors model({"a"});
    DataParallel replica(world, model);
    const std::vector<int> mine(world.rank() == 0 ? 1 : 2, 4 * world.rank() + 4);  // of 4 and of 8 samples
    std::vector<std::optional<double>> gradients;
    for (const int samples : join_batches(world, mine, Uneven::kShadow, [](int samples) { return samples; })) {
      test::clear_gradients(model);
      model.loss({"a"}, samples).backward();
      gradients.push_back(model.gradient("a"));
    }
    ASSERT_EQ(gradients.size(), 2U);
    EXPECT_NEAR(*gradients[0], (4.0 * 4 + 8.0 * 8) / 12, 1e-5);
    EXPECT_NEAR(*gradients[1], 8, 1e-5) << "rank 0 only shadows";
    test::clear_gradients(model);
    model.loss({"a"}, 1 + world.rank()).backward();
    EXPECT_EQ(model.gradient("a"), 1.5) << "equal weights again";
  });
}

/// What a loop over batches of so many samples ends with, on each rank.
test::Thrown end_of(World& world, std::vector<int> batches, Uneven uneven) {
  return test::thrown_by([&] {
    for ([[maybe_unused]] const int samples : join_batches(world, batches, uneven, [](int n) { return n; })) {
    }
  });
}

TEST(Uneven, ErrorsAreThrownOnAllRanks) {
  test::on_ranks(3, [](World& world) {
    const bool last = world.rank() == 2;
    const auto [code, text] = end_of(world, last ? std::vector{2} : std::vector{2, 2}, Uneven::kError);
    EXPECT_EQ(code, ErrorCode::kMismatch);
    EXPECT_THAT(text, HasSubstr("Rank 2 has no batch any more"));

    const auto none = end_of(world, last ? std::vector<int>{} : std::vector{2}, Uneven::kShadow);
    EXPECT_EQ(none.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(none.text, HasSubstr("Rank 2 has no batch at all"));

    const auto empty = end_of(world, {0}, Uneven::kShadow);
    EXPECT_EQ(empty.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(empty.text, HasSubstr("No rank's batch has any samples"));

    EXPECT_EQ(end_of(world, {}, Uneven::kError).text, "no error") << "no epoch at all";
    EXPECT_EQ(end_of(world, {2, 3}, Uneven::kError).text, "no error");
  });
}

}  // namespace
}  // namespace lockstep
