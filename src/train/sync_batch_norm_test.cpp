#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/sync_batch_norm.h>

#include "train/test_parity.h"

namespace lockstep {
namespace {

using test::on_ranks;
using test::parity_of;
using test::Side;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct NormalisedNet : torch::nn::Module {
  NormalisedNet()
      : features(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3)), torch::nn::BatchNorm2d(4), torch::nn::Tanh(),
                 torch::nn::Flatten()),
        head(torch::nn::Linear(64, 8), torch::nn::BatchNorm1d(torch::nn::BatchNormOptions(8).affine(false)),
             torch::nn::Tanh(), torch::nn::Linear(8, 3)) {
    register_module("features", features);
    register_module("head", head);
  }
  torch::Tensor forward(const torch::Tensor& images) { return head->forward(features->forward(images)); }
  torch::nn::Sequential features;
  torch::nn::Sequential head;
};

std::shared_ptr<NormalisedNet> normalised_net() { return std::make_shared<NormalisedNet>(); }

torch::Tensor flat_tensors(const torch::nn::Module& module) {
  std::vector<torch::Tensor> parts{test::flat_parameters(module)};
  for (const auto& buffer : module.buffers()) parts.push_back(buffer.detach().to(torch::kFloat64).flatten());
  return torch::cat(parts);
}

/// Batches of 14, 14, 14 and 3, of which one of four ranks gets none. Returns the change of parameters and statistics.
torch::Tensor train_normalised(const Side& side, bool convert) {
  auto net = test::seeded(side.seed, normalised_net);
  net->to(torch::kFloat64);
  if (side.options && convert) {
    EXPECT_EQ(convert_sync_batch_norm(*net, side.group), 2);
  }
  const auto replica = side.replicate(*net);
  const auto start = flat_tensors(*net);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  auto loader_options = test::spots_options();
  loader_options.drop_last = !convert;  // BatchNorm itself refuses a rank's share of one sample
  const auto loader = make_loader(test::spots(), side.group, loader_options);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      const auto scores = net->forward(batch.data.to(torch::kFloat64));
      torch::nn::functional::cross_entropy(scores, batch.target).backward();
      optimizer.step();
    }
  }
  return flat_tensors(*net) - start;
}

class SyncBatchNormOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, SyncBatchNormOn, ::testing::Values(1, 2, 3, 4));

TEST_P(SyncBatchNormOn, TrainsAsBatchNormOnTheWholeBatch) {
  const auto result = parity_of([](const Side& side) { return train_normalised(side, true); }, GetParam());
  EXPECT_LE(result.difference, test::kParityTolerance);
  EXPECT_TRUE(result.bits_equal);
}

TEST(SyncBatchNorm, ParityFailsWithStatisticsOfEachRank) {
  const auto result = parity_of([](const Side& side) { return train_normalised(side, false); }, 3);
  EXPECT_GT(result.difference, 100 * test::kParityTolerance);
  EXPECT_FALSE(result.bits_equal);
}

TEST(SyncBatchNorm, ParityFailsWhenARanksGradientsAreLost) {
  const auto train = [](const Side& side) { return train_normalised(side, true); };
  EXPECT_GT(parity_of(train, 3, {}, test::dropping_the_last_rank()).difference, 100 * test::kParityTolerance);
}

TEST(SyncBatchNorm, GradientOfTheInputIsTheWholeBatchs) {
  const auto whole = torch::sin(torch::arange(6 * 2 * 3, torch::kFloat64)).reshape({6, 2, 3});
  const auto weights = torch::cos(torch::arange(6 * 2 * 3, torch::kFloat64)).reshape({6, 2, 3});
  torch::nn::BatchNorm1d batch_norm(2);
  batch_norm->to(torch::kFloat64);
  const auto input = whole.clone().requires_grad_();
  const auto output = batch_norm(input);
  (output * weights).sum().backward();
  on_ranks(2, [&](World& world) {  // 2 and 4 samples
    SyncBatchNorm norm(world, torch::nn::BatchNormOptions(2));
    norm->to(torch::kFloat64);
    const std::int64_t first = world.rank() * 2;
    const std::int64_t count = world.rank() == 0 ? 2 : 4;
    const auto mine = whole.narrow(0, first, count).clone().requires_grad_();
    const auto normal = norm(mine);
    EXPECT_TRUE(torch::allclose(normal, output.narrow(0, first, count), 1e-10, 1e-12));
    (normal * weights.narrow(0, first, count)).sum().backward();
    EXPECT_TRUE(torch::allclose(mine.grad(), input.grad().narrow(0, first, count), 1e-9, 1e-11));
    EXPECT_TRUE(torch::allclose(norm->running_var, batch_norm->running_var));
  });
}

TEST(SyncBatchNorm, InEvaluationIsBatchNormAndSendsNothing) {
  on_ranks(2, [](World& world) {
    torch::nn::BatchNormOptions options(2);
    options.momentum() = std::decay_t<decltype(options.momentum())>();  // none
    SyncBatchNorm norm(world, options);
    for (int i = 0; i < 2; ++i) norm(torch::full({2, 2}, 1.0 + i) + torch::eye(2) * world.rank());
    EXPECT_NEAR(norm->running_mean[0].item<double>(), 1.75, 1e-6);  // without momentum the mean of 1.25 and 2.25
    norm->eval();
    if (world.rank() == 1) return;
    EXPECT_NEAR(norm(torch::full({1, 2}, 1.75))[0][0].item<double>(), 0, 1e-6);
  });
}

TEST(SyncBatchNorm, ClonesAndPrints) {
  SyncBatchNorm norm(World::alone(), torch::nn::BatchNormOptions(2));
  torch::nn::init::constant_(norm->weight, 3);
  const auto copy = std::dynamic_pointer_cast<SyncBatchNormImpl>(norm->clone());
  EXPECT_EQ(copy->weight[0].item<float>(), 3);
  EXPECT_NE(copy->weight.data_ptr(), norm->weight.data_ptr());
  EXPECT_EQ(copy->named_parameters().size(), 2u);
  EXPECT_EQ(c10::str(*norm), "lockstep::SyncBatchNorm(2, eps=1e-05)");
}

TEST(SyncBatchNorm, ConvertingKeepsNamesTensorsAndMode) {
  auto net = normalised_net();
  net->eval();
  const auto before = net->named_parameters();
  EXPECT_EQ(convert_sync_batch_norm(*net, World::alone()), 2);
  const auto after = net->named_parameters();
  EXPECT_EQ(after.keys(), before.keys());
  for (const auto& parameter : before)
    EXPECT_TRUE(after[parameter.key()].is_same(parameter.value())) << parameter.key();
  EXPECT_NE(net->features->children()[1]->as<SyncBatchNormImpl>(), nullptr);
  EXPECT_FALSE(net->features->children()[1]->is_training());
  EXPECT_EQ(convert_sync_batch_norm(*net, World::alone()), 0);
}

TEST(SyncBatchNorm, ConvertingNamesWhatItCannotReach) {
  struct Block : torch::nn::Module {
    torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(4));
  };
  torch::nn::Sequential net(torch::nn::BatchNorm2d(4));
  torch::nn::Module root;
  root.register_module("stem", net);
  root.register_module("block", std::make_shared<Block>());
  EXPECT_THAT([&] { convert_sync_batch_norm(root, World::alone()); },
              ThrowsMessage<Error>(HasSubstr("cannot replace 'block.norm'")));
  EXPECT_EQ(net->children()[0]->as<SyncBatchNormImpl>(), nullptr);
  EXPECT_THAT([&] { convert_sync_batch_norm(*torch::nn::BatchNorm1d(1), World::alone()); },
              ThrowsMessage<Error>(HasSubstr("a BatchNorm itself")));
}

TEST(SyncBatchNorm, RefusesWhatItCannotNormalise) {
  SyncBatchNorm norm(World::alone(), torch::nn::BatchNormOptions(2));
  EXPECT_THAT([&] { norm(torch::zeros({4, 3})); }, ThrowsMessage<Error>(HasSubstr("input of shape [4, 3]")));
  EXPECT_THAT([&] { norm(torch::zeros({4})); }, ThrowsMessage<Error>(HasSubstr("input of shape [4]")));
  EXPECT_THAT([&] { norm(torch::zeros({1, 2})); }, ThrowsMessage<Error>(HasSubstr("1 value a channel")));
  const auto input = torch::rand({4, 2}, torch::requires_grad());
  const auto twice = [&] {
    torch::autograd::grad({norm(input).pow(3).sum()}, {input}, {}, /*retain_graph=*/true, /*create_graph=*/true);
  };
  EXPECT_THAT(twice, ThrowsMessage<Error>(HasSubstr("no second derivative")));
}

}  // namespace
}  // namespace lockstep
