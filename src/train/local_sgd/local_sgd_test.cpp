// Local SGD is one process on the whole batch where theory says so, and otherwise the papers' algorithms, which one
// process runs here for all ranks; on MNIST both learn what DataParallel does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/local_sgd.h>

#include "train/batch_share.h"
#include "train/hooks/test_mnist.h"
#include "train/test_parity.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class LocalSgdOn : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LocalSgdOn, ::testing::Values(1, 2, 3, 4));

enum class Fault { kNone, kEqualWeights, kLastRankLost };

/// Plain SGD on ragged batches, of which the last leaves a rank of four without samples; an exchange after each.
test::Parity whole_batch_parity(int ranks, Fault fault = Fault::kNone) {
  const auto train = [fault](const test::Side& side) {
    const auto net = test::make_net(side.seed);
    std::optional<LocalSgd> replica;
    if (side.options) replica.emplace(side.group, *net, LocalSgdOptions{.period = 1});
    const auto start = test::flat_parameters(*net);
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    const auto loader = make_loader(test::spots(), side.group, test::spots_options());
    for (int epoch = 0; epoch < 5; ++epoch) {
      for (auto& batch : loader->epoch()) {
        optimizer.zero_grad();
        torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
        if (fault == Fault::kEqualWeights) side.group.attribute<BatchShare>() = {};
        if (fault == Fault::kLastRankLost && side.options && side.group.rank() == 2) net->zero_grad();
        if (replica) {
          replica->step(optimizer);
        } else {
          optimizer.step();
        }
      }
    }
    return test::flat_parameters(*net) - start;
  };
  return test::parity_of(train, ranks);
}

TEST_P(LocalSgdOn, WithPeriodOneIsOneProcessOnTheWholeBatch) {
  const auto parity = whole_batch_parity(GetParam());
  EXPECT_LE(parity.difference, test::kParityTolerance);
  EXPECT_TRUE(parity.bits_equal);
}

/// One loop for every strategy.
template <class Strategy>
torch::Tensor trained_by(Strategy replica, test::SmallNet& net, const Group& group) {
  torch::optim::SGD optimizer(net.parameters(), 0.1);
  const auto loader = make_loader(test::spots(), group, test::spots_options());
  for (auto& batch : loader->epoch()) {
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net.forward(batch.data), batch.target).backward();
    replica.step(optimizer);
  }
  replica.synchronise();
  return test::flat_parameters(net);
}

TEST(LocalSgdTest, HasTheSameCallSiteAsDataParallel) {
  run_threads(2, [](World& world) {
    const auto net = test::make_net(3);
    const torch::Tensor in_lockstep = trained_by(DataParallel(world, *net), *net, world);
    const auto other = test::make_net(3);
    const torch::Tensor locally = trained_by(LocalSgd(world, *other, {.period = 1}), *other, world);
    EXPECT_LE((in_lockstep - locally).norm().item<double>(),
              test::kParityTolerance * in_lockstep.norm().item<double>());
    const auto another = test::make_net(3);
    const torch::Tensor seldom = trained_by(LocalSgd(world, *another, {.period = 4}), *another, world);
    EXPECT_GT((in_lockstep - seldom).norm().item<double>(), 0) << "ranks were apart in between";
  });
}

TEST(LocalSgdTest, ParitySeesWeightsThatAreEqual) {
  EXPECT_GT(whole_batch_parity(3, Fault::kEqualWeights).difference, 100 * test::kParityTolerance);
}

TEST(LocalSgdTest, ParitySeesARankThatIsLost) {
  EXPECT_GT(whole_batch_parity(3, Fault::kLastRankLost).difference, 100 * test::kParityTolerance);
}

constexpr int kUpdates = 12;
constexpr int kPeriod = 4;

torch::Tensor start() { return torch::linspace(-1, 1, 24, torch::kFloat64).view({4, 6}); }

/// A loss whose gradient depends on rank, iteration and parameter.
torch::Tensor loss_of(const torch::Tensor& w, int rank, int iteration) {
  const auto target = torch::sin(torch::arange(24, torch::kFloat64) * (1.3 + rank) + iteration).view({4, 6});
  return (w - target).square().sum() + (w * w * w * w).sum();
}

torch::optim::AdamW adamw(const torch::Tensor& w) {
  return torch::optim::AdamW(std::vector<torch::Tensor>{w}, torch::optim::AdamWOptions(0.05));
}

/// Algorithm 1 of DiLoCo in one process, for all ranks, with the outer optimizer written out. Local SGD is rate 1 and
/// momentum 0.
torch::Tensor by_the_paper(int ranks, double rate, double momentum, bool nesterov = true) {
  auto common = start();
  auto velocity = torch::zeros_like(common);
  std::vector<torch::Tensor> w;
  std::vector<torch::optim::AdamW> inner;
  for (int rank = 0; rank < ranks; ++rank) {
    w.push_back(start().requires_grad_());
    inner.push_back(adamw(w.back()));
  }
  for (int t = 1; t <= kUpdates; ++t) {
    for (int rank = 0; rank < ranks; ++rank) {
      w[rank].mutable_grad() = torch::Tensor();
      loss_of(w[rank], rank, t).backward();
      inner[rank].step();
    }
    if (t % kPeriod != 0) continue;
    const torch::NoGradGuard no_grad;
    auto moved = torch::zeros_like(common);
    for (int rank = 0; rank < ranks; ++rank) moved += (common - w[rank]) / ranks;
    velocity = momentum * velocity + moved;
    common = common - rate * (nesterov ? moved + momentum * velocity : velocity);
    for (auto& one : w) one.copy_(common);
  }
  return common;
}

/// Over the norm of what the parameters moved.
double difference(int ranks, const LocalSgdOptions& options, const torch::Tensor& expected) {
  double result = 0;
  test::on_ranks(ranks, [&](World& world) {
    const auto w = start().requires_grad_();
    LocalSgd replica(world, NamedTensors{{"w", w}}, options);
    auto optimizer = adamw(w);
    for (int t = 1; t <= kUpdates; ++t) {
      optimizer.zero_grad();
      loss_of(w, world.rank(), t).backward();
      replica.step(optimizer);
    }
    if (world.rank() == 0) result = ((w - expected).norm() / (expected - start()).norm()).item<double>();
  });
  return result;
}

TEST_P(LocalSgdOn, IsThePapersAlgorithmWithAnyInnerOptimizer) {
  const int ranks = GetParam();
  EXPECT_LE(difference(ranks, {.period = kPeriod}, by_the_paper(ranks, 1, 0)), 1e-10);
  EXPECT_LE(difference(ranks, diloco(kPeriod), by_the_paper(ranks, 0.7, 0.9)), 1e-10);
}

TEST(LocalSgdTest, SeesMistakesOfTheOuterOptimizer) {
  EXPECT_GT(difference(2, diloco(kPeriod), by_the_paper(2, 0.7, 0.9, /*nesterov=*/false)), 0.01);
  EXPECT_GT(difference(2, diloco(kPeriod), by_the_paper(2, 1, 0.9)), 0.01);
  EXPECT_GT(difference(2, {.period = kPeriod - 1}, by_the_paper(2, 1, 0)), 1e-3);
  EXPECT_GT(difference(2, {.period = kPeriod}, by_the_paper(3, 1, 0)), 0.01);
}

TEST(LocalSgdTest, SynchroniseMakesRanksEqualInBetween) {
  test::on_ranks(2, [](World& world) {
    const auto w = start().requires_grad_();
    LocalSgd replica(world, NamedTensors{{"w", w}}, {.period = 100});
    auto optimizer = adamw(w);
    const auto spread = [&] {
      std::vector<double> largest{w.sum().item<double>()};
      std::vector<double> smallest = largest;
      world.all_reduce(buffer_of(largest), ReduceOp::kMax).wait();
      world.all_reduce(buffer_of(smallest), ReduceOp::kMin).wait();
      return largest[0] - smallest[0];
    };
    for (int t = 1; t <= 3; ++t) {
      optimizer.zero_grad();
      loss_of(w, world.rank(), t).backward();
      replica.step(optimizer);
    }
    EXPECT_GT(spread(), 0);
    EXPECT_EQ(replica.traffic().sent_bytes, 0);
    EXPECT_EQ(replica.traffic().iterations, 3);
    replica.synchronise();
    EXPECT_EQ(spread(), 0);
    EXPECT_EQ(replica.traffic().sent_bytes, 24 * 8);
    replica.synchronise();  // nothing happened since
    EXPECT_EQ(replica.traffic().sent_bytes, 24 * 8);
  });
}

TEST(LocalSgdTest, RunningStatisticsBecomeTheirMean) {
  test::on_ranks(2, [](World& world) {
    torch::nn::BatchNorm1d norm(3);
    LocalSgd replica(world, *norm, {.period = 2});
    torch::optim::SGD optimizer(norm->parameters(), 0.1);
    for (int i = 0; i < 2; ++i) {
      norm->forward(torch::full({4, 3}, 1.0 + world.rank()) + torch::arange(4).view({4, 1})).sum().backward();
      replica.step(optimizer);
    }
    // Means of 2.5 and 3.5, by momentum 0.1, twice.
    EXPECT_TRUE(torch::allclose(norm->running_mean, torch::full({3}, 3.0 * 0.19))) << norm->running_mean;
  });
}

/// The accuracy on MNIST after 400 iterations on two ranks, and how many times fewer bytes were sent.
struct Outcome {
  double accuracy = 0;
  double ratio = 1;
};

using MakeOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>;

Outcome digits_learnt(const std::filesystem::path& folder, const LocalSgdOptions& options, const MakeOptimizer& make) {
  const test::Digits training(folder, "train", 25600);
  const test::Digits held_back(folder, "t10k", 10000);
  Outcome outcome;
  test::on_ranks(2, [&](World& world) {
    auto net = test::digit_net();
    LocalSgd replica(world, *net, options);
    const auto optimizer = make(net->parameters());
    const auto loader = make_loader(training, world, {.global_batch = 64, .seed = 5});
    for (auto& batch : loader->epoch()) {
      optimizer->zero_grad();
      torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
      replica.step(*optimizer);
    }
    replica.synchronise();
    if (world.rank() == 0) outcome = {test::accuracy(net, held_back), replica.traffic().ratio()};
  });
  return outcome;
}

TEST(LocalSgdTest, LearnsDigitsAsDataParallelDoes) {
  const auto folder = test::mnist();
  if (folder.empty()) GTEST_SKIP() << "no MNIST: set LOCKSTEP_TEST_DATA";
  const MakeOptimizer sgd = [](auto w) { return std::make_unique<torch::optim::SGD>(w, 0.05); };
  const MakeOptimizer adam = [](auto w) { return std::make_unique<torch::optim::AdamW>(w, 1e-3); };
  const auto dense = digits_learnt(folder, {.period = 1}, sgd);
  const auto local = digits_learnt(folder, {.period = 8}, sgd);
  const auto dense_adam = digits_learnt(folder, {.period = 1}, adam);
  const auto outer = digits_learnt(folder, diloco(50), adam);
  std::printf(
      "accuracy: period 1 %.4f, local SGD of 8 %.4f with %.1f times fewer bytes; AdamW of period 1 %.4f, DiLoCo of "
      "50 %.4f with %.1f times fewer bytes\n",
      dense.accuracy, local.accuracy, local.ratio, dense_adam.accuracy, outer.accuracy, outer.ratio);
  EXPECT_GT(dense.accuracy, 0.9);
  EXPECT_GE(local.accuracy, dense.accuracy - 0.01);
  EXPECT_NEAR(local.ratio, 8, 0.01);
  EXPECT_GE(outer.accuracy, dense_adam.accuracy - 0.02);
  EXPECT_NEAR(outer.ratio, 50, 0.01);
}

TEST(LocalSgdTest, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::string& text) { return ThrowsMessage<Error>(HasSubstr(text)); };
  const auto make = [](const LocalSgdOptions& options, bool trained = true) {
    LocalSgd(World::alone(), NamedTensors{{"w", torch::zeros({3}).requires_grad_(trained)}}, options);
  };
  EXPECT_THAT([&] { make({.period = 0}); }, refusal("a period of 0 updates"));
  EXPECT_THAT([&] { make({.outer_rate = 0}); }, refusal("an outer rate of 0"));
  EXPECT_THAT([&] { make({.outer_momentum = 1}); }, refusal("an outer momentum of 1"));
  EXPECT_THAT([&] { make({}, false); }, refusal("LocalSgd"));
  EXPECT_THAT(
      [] {
        test::on_ranks(2, [](World& world) {
          const LocalSgd replica(world, NamedTensors{{"w", torch::zeros({3}).requires_grad_()}},
                                 {.period = 4 + world.rank()});
        });
      },
      refusal("period 4"));
}

}  // namespace
}  // namespace lockstep
