// The same training on any number of ranks, to the bit; and the comparison sees where it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/invariant.h>

#include "train/test_errors.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using test::error_of;
using test::make_net;
using test::SmallNet;
using test::thrown_by;
using testing::HasSubstr;

constexpr int kMicroBatches = 8;

/// What a training came to, bit for bit.
struct Course {
  std::vector<double> losses;
  torch::Tensor change;
};

bool same_bits(const Course& one, const Course& other) {
  return one.losses == other.losses && torch::equal(one.change, other.change);
}

torch::Tensor loss_of(SmallNet& net, const torch::Tensor& data, const torch::Tensor& target) {
  return torch::nn::functional::cross_entropy(net.forward(data), target);
}

/// Updates `net` so many times. Batches of 14, 14, 14 and 3 samples: of 8
/// micro-batches some have two samples, some one, some none.
void train(SmallNet& net, torch::optim::Optimizer& optimizer, Loader& loader, InvariantParallel& replica, int updates,
           Course& course) {
  while (updates > 0) {
    for (auto& batch : loader.epoch()) {
      course.losses.push_back(replica.backward(
          batch, [&](const torch::Tensor& data, const torch::Tensor& target) { return loss_of(net, data, target); }));
      optimizer.step();
      if (--updates == 0) break;
    }
  }
}

Course course_on(const Group& group) {
  constexpr int kUpdates = 12;
  Course course;
  const auto net = make_net(static_cast<std::uint64_t>(1 + group.rank()));
  InvariantParallel replica(group, *net, {.micro_batches = kMicroBatches});
  const auto start = test::flat_parameters(*net);
  torch::optim::AdamW optimizer(net->parameters(), 1e-2);
  const auto loader = make_loader(test::spots(), group, test::spots_options());
  train(*net, optimizer, *loader, replica, kUpdates, course);
  course.change = test::flat_parameters(*net) - start;
  return course;
}

class InvariantOn : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, InvariantOn, testing::Values(1, 2, 4, 8));

TEST_P(InvariantOn, TheSameBitsAsOnOneRank) {
  at::set_num_threads(1);
  const auto expected = course_on(World::alone());
  test::on_ranks(GetParam(), [&](World& world) { EXPECT_TRUE(same_bits(course_on(world), expected)); });
}

TEST(Invariant, DataParallelDoesNotGiveTheSameBits) {
  const auto course = [](const Group& group) {
    const auto net = make_net(1);
    const DataParallel replica(group, *net);
    return test::train_small_net(*net, group);
  };
  at::set_num_threads(1);
  const auto alone = course(World::alone());
  test::on_ranks(4, [&](World& world) { EXPECT_FALSE(torch::equal(course(world), alone)); });
}

TEST(Invariant, IsTheTrainingOfTheWholeBatch) {
  at::set_num_threads(1);
  const auto net = make_net(1);
  InvariantParallel replica(World::alone(), *net, {.micro_batches = kMicroBatches});
  auto loader = make_loader(test::spots(), World::alone(), test::spots_options());
  for (auto& batch : loader->epoch()) {
    net->zero_grad();
    const auto whole = loss_of(*net, batch.data, batch.target);
    whole.backward();
    std::vector<torch::Tensor> expected;
    for (const auto& parameter : net->parameters()) expected.push_back(parameter.grad().clone());
    const double loss = replica.backward(
        batch, [&](const torch::Tensor& data, const torch::Tensor& target) { return loss_of(*net, data, target); });
    EXPECT_NEAR(loss, whole.item<double>(), 1e-6);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto difference = (net->parameters()[i].grad() - expected[i]).norm() / expected[i].norm();
      EXPECT_LE(difference.item<double>(), 1e-5);
    }
  }
  EXPECT_EQ(replica.iteration(), 4);
}

TEST(Invariant, UnreachedParametersStayWithoutGradient) {
  test::on_ranks(2, [](World& world) {
    test::Vectors model({"a", "b", "c"});
    InvariantParallel replica(world, model, {.micro_batches = 2});
    // Micro-batch 0 reaches a, micro-batch 1 reaches b.
    replica.backward(2, [&](std::int64_t begin, std::int64_t) { return model.loss({begin == 0 ? "a" : "b"}, 3); });
    EXPECT_EQ(model.gradient("a"), 1.5);
    EXPECT_EQ(model.gradient("b"), 1.5);
    EXPECT_EQ(model.gradient("c"), std::nullopt);
  });
}

TEST(Invariant, RefusesNumbersThatCannotBe) {
  const auto made = [](World& world, const InvariantOptions& options) {
    return thrown_by([&] {
      test::Vectors model({"a"});
      const InvariantParallel replica(world, model, options);
    });
  };
  test::on_ranks(3, [&](World& world) {
    const auto [code, text] = made(world, {.micro_batches = 8});
    EXPECT_EQ(code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(text, HasSubstr("up to 8 ranks, not on 3"));
  });
  test::on_ranks(2, [&](World& world) {
    EXPECT_THAT(made(world, {.micro_batches = 1}).text, HasSubstr("up to 1 ranks, not on 2"));
    EXPECT_THAT(made(world, {.micro_batches = 6}).text, HasSubstr("a power of two"));
    EXPECT_THAT(made(world, {.threads = 0}).text, HasSubstr("at least one thread, not 8 and 0"));
    const auto [code, text] = made(world, {.seed = static_cast<std::uint64_t>(world.rank())});
    EXPECT_EQ(code, ErrorCode::kMismatch);
    EXPECT_THAT(text, HasSubstr("option seed"));
  });
}

TEST(Invariant, RefusesWhatWouldDependOnTheRanks) {
  auto world = World::alone();
  at::set_num_threads(1);
  test::Vectors half({"a"});
  half.to(torch::kBFloat16);
  EXPECT_THAT(error_of([&] { InvariantParallel(world, half); }), HasSubstr("'a' of type BFloat16"));

  test::Vectors model({"a"});
  InvariantParallel replica(world, model);
  const auto backward = [&] { replica.backward(8, [&](std::int64_t, std::int64_t) { return model.loss({"a"}, 1); }); };
  at::set_num_threads(2);
  const auto threads = thrown_by(backward);
  at::set_num_threads(1);
  EXPECT_EQ(threads.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(threads.text, HasSubstr("with 2 threads now, and InvariantParallel was made for 1"));
  EXPECT_THAT(error_of([&] { replica.backward(0, nullptr); }), HasSubstr("without samples"));
  backward();
  EXPECT_EQ(model.gradient("a"), 1);

  Batch uneven;
  uneven.samples = 3;
  uneven.global_samples = 8;
  EXPECT_THAT(error_of([&] { replica.backward(uneven, nullptr); }), HasSubstr("3 of 8 on rank 0 of 1"));
  Batch by_length;
  by_length.samples = by_length.global_samples = 8;
  by_length.lengths = torch::ones({8}, torch::kInt64);
  EXPECT_THAT(error_of([&] { replica.backward(by_length, nullptr); }), HasSubstr("without lengths"));

  torch::nn::Sequential normalised(torch::nn::Linear(3, 3), torch::nn::BatchNorm1d(3));
  InvariantParallel refused(world, *normalised);
  const auto [code, text] = thrown_by([&] {
    refused.backward(16, [&](std::int64_t begin, std::int64_t end) {
      return normalised->forward(torch::ones({end - begin, 3})).sum();
    });
  });
  EXPECT_EQ(code, ErrorCode::kUnsupported);
  EXPECT_THAT(text, HasSubstr("changes its buffer '1."));
}

}  // namespace
}  // namespace lockstep
