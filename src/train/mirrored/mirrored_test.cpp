#include <lockstep/mirrored.h>

#include "train/test_parity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace lockstep {
namespace {

using testing::HasSubstr;
using Net = std::shared_ptr<test::SmallNet>;
using Tensors = std::vector<torch::Tensor>;

std::unique_ptr<torch::optim::Optimizer> sgd(std::vector<torch::Tensor> parameters) {
  return std::make_unique<torch::optim::SGD>(std::move(parameters), torch::optim::SGDOptions(0.1).momentum(0.9));
}

torch::Tensor loss_of(Net& net, const Tensors& part) {
  return torch::nn::functional::cross_entropy(net->forward(part[0]), part[1]);
}

/// Seeded as test::make_net(1) is: its generator is each thread's own.
Mirrored<Net> mirrored(int replicas) {
  return {replicas, [] { return std::make_shared<test::SmallNet>(); }, sgd, {.seed = 1}};
}

/// What test::train_small_net does, with `update` on each global batch.
torch::Tensor change_of(Mirrored<Net>& mirrored, const std::function<void(const Tensors&)>& update) {
  const auto start = test::flat_parameters(*mirrored.model()).clone();
  const auto loader = make_loader(test::spots(), World::alone(), test::spots_options());
  for (int iteration = 0; iteration < 20;) {
    for (auto& batch : loader->epoch()) {
      update({batch.data, batch.target});
      if (++iteration == 20) break;
    }
  }
  return test::flat_parameters(*mirrored.model()) - start;
}

class MirroredReplicas : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Counts, MirroredReplicas, testing::Values(1, 2, 3, 4));

TEST_P(MirroredReplicas, TrainAsOneProcessOnTheWholeBatch) {
  at::set_num_threads(1);
  const auto expected = test::train_small_net(*test::make_net(1), World::alone());
  auto replicas = mirrored(GetParam());
  const auto change = change_of(replicas, [&](const Tensors& batch) { replicas.step(batch, loss_of); });
  EXPECT_LT(((change - expected).norm() / expected.norm()).item<double>(), test::kParityTolerance);
}

TEST(Mirrored, WeighsAnewAfterARunThatWeighedOtherwise) {
  at::set_num_threads(1);
  const Tensors batch{torch::sin(torch::arange(3 * 36, torch::kFloat32)).view({3, 1, 6, 6}), torch::tensor({0, 1, 2})};
  auto plain = mirrored(2);
  auto disturbed = mirrored(2);
  for (int i = 0; i < 2; ++i) {
    plain.step(batch, loss_of);
    disturbed.step(batch, loss_of);
    disturbed.run([](Replica<Net>& replica) { replica.parallel.samples(replica.world.rank() == 0 ? 100 : 1); });
  }
  EXPECT_TRUE(torch::equal(test::flat_parameters(*plain.model()), test::flat_parameters(*disturbed.model())));
}

TEST(Mirrored, ARunWeighsReplicasEquallyUntilItIsToldOtherwise) {
  const Tensors batch{torch::sin(torch::arange(3 * 36, torch::kFloat32)).view({3, 1, 6, 6}), torch::tensor({0, 1, 2})};
  auto replicas = mirrored(2);
  std::vector<double> means(2);
  const auto mean_of_ranks = [&](Replica<Net>& replica) {
    const int rank = replica.world.rank();
    means[static_cast<std::size_t>(rank)] = replica.parallel.mean(torch::tensor(3.0 * rank)).item<double>();
  };
  replicas.step(batch, loss_of);  // of one sample and two
  replicas.run(mean_of_ranks);
  EXPECT_THAT(means, testing::Each(1.5));
  replicas.run([&](Replica<Net>& replica) {
    replica.parallel.samples(1 + replica.world.rank());
    mean_of_ranks(replica);
  });
  EXPECT_THAT(means, testing::Each(2));
  replicas.run(mean_of_ranks);
  EXPECT_THAT(means, testing::Each(1.5));
}

TEST_P(MirroredReplicas, EqualRanksWithDataParallelToTheBit) {
  torch::Tensor expected;
  test::on_ranks(GetParam(), [&](World& world) {
    const auto net = test::make_net(static_cast<std::uint64_t>(1 + world.rank()));
    const DataParallel replica(world, *net);
    const auto change = test::train_small_net(*net, world);
    if (world.rank() == 0) expected = change;
  });
  auto replicas = mirrored(GetParam());
  const auto change = change_of(replicas, [&](const Tensors& batch) { replicas.step(batch, loss_of); });
  EXPECT_TRUE(torch::equal(change, expected));
}

TEST(Mirrored, WithoutWeightsForPartsOfUnequalSizeItWouldNotBeTheWholeBatch) {
  at::set_num_threads(1);
  const auto expected = test::train_small_net(*test::make_net(1), World::alone());
  auto replicas = mirrored(3);
  const auto change = change_of(replicas, [&](const Tensors& batch) {
    replicas.run([&](Replica<Net>& replica) {
      const auto part = detail::part_of(batch, replica.world.rank(), 3);
      replica.optimizer->zero_grad();
      loss_of(replica.model, part.tensors).backward();
      replica.optimizer->step();
    });
  });
  EXPECT_GT(((change - expected).norm() / expected.norm()).item<double>(), 100 * test::kParityTolerance);
}

TEST(Mirrored, ReturnsTheMeanLossOfTheGlobalBatch) {
  auto replicas = mirrored(3);
  const auto loader = make_loader(test::spots(), World::alone(), test::spots_options());
  for (auto& batch : loader->epoch()) {
    const double expected = loss_of(replicas.model(), {batch.data, batch.target}).item<double>();
    EXPECT_NEAR(replicas.step({batch.data, batch.target}, loss_of), expected, 1e-6);
  }
}

TEST(Mirrored, EvaluatesInOrderAlsoFewerSamplesThanReplicas) {
  auto replicas = mirrored(4);
  for (const std::int64_t samples : {1, 3, 4, 11}) {
    const auto images = torch::randn({samples, 1, 6, 6});
    const auto scores = replicas.evaluate({images}, [](Net& net, const Tensors& part) {
      EXPECT_FALSE(net->is_training());
      return net->forward(part[0]);
    });
    EXPECT_FALSE(scores.requires_grad());
    EXPECT_TRUE(torch::allclose(scores, replicas.model()->forward(images), 1e-5, 1e-6)) << samples;
    EXPECT_TRUE(replicas.model()->is_training());
  }
}

TEST(Mirrored, AllReplicasHoldTheSame) {
  auto replicas = mirrored(3);
  replicas.step({torch::randn({7, 1, 6, 6}), torch::randint(0, 3, {7})}, loss_of);
  std::vector<torch::Tensor> parameters(3);
  replicas.run([&](Replica<Net>& replica) {
    parameters[static_cast<std::size_t>(replica.world.rank())] = test::flat_parameters(*replica.model);
  });
  EXPECT_TRUE(torch::equal(parameters[0], parameters[1]));
  EXPECT_TRUE(torch::equal(parameters[0], parameters[2]));
}

TEST(Mirrored, RefusesBatchesThatCannotBeCut) {
  auto replicas = mirrored(2);
  const auto refusal = [&](const Tensors& batch) -> std::string {
    try {
      replicas.step(batch, loss_of);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(refusal({}), HasSubstr("at least one sample"));
  EXPECT_THAT(refusal({torch::zeros({0, 1, 6, 6}), torch::zeros({0})}), HasSubstr("at least one sample"));
  EXPECT_THAT(refusal({torch::zeros({5, 1, 6, 6}), torch::zeros({4})}), HasSubstr("has 5, tensor 1 has 4"));
  EXPECT_GT(replicas.step({torch::zeros({4, 1, 6, 6}), torch::zeros({4}, torch::kInt64)}, loss_of), 0)
      << "nothing was done, so it goes on";
}

TEST(Mirrored, RefusesCountsBelowOne) {
  EXPECT_THROW(mirrored(0), Error);
  const auto make = [] { return std::make_shared<test::SmallNet>(); };
  EXPECT_THROW((Mirrored<Net>(2, make, sgd, {.computing_threads = 0})), Error);
}

TEST(Mirrored, WhatALossThrowsComesOut) {
  auto replicas = mirrored(2);
  const Tensors batch{torch::zeros({4, 1, 6, 6}), torch::tensor({0, 0, 0, 1})};
  const auto fail = [](Net& net, const Tensors& part) -> torch::Tensor {
    if (part[1].sum().item<int>() == 1) throw std::runtime_error("no such label");
    return loss_of(net, part);
  };
  EXPECT_THROW(replicas.step(batch, fail), std::runtime_error);
  EXPECT_THROW(replicas.step(batch, loss_of), std::runtime_error) << "the replicas are no longer equal";
}

}  // namespace
}  // namespace lockstep
