// What DataParallel wraps, and programs of unlike shapes around it: each trains as one process does, and not when a
// rank's gradients are lost.
#include <gtest/gtest.h>
#include <lockstep/traffic.h>
#include <torch/script.h>

#include <sstream>

#include "train/test_errors.h"
#include "train/test_parity.h"
#include "train/test_recomputed.h"

namespace lockstep {
namespace {

using test::parity_of;
using test::Recomputed;
using test::Side;

constexpr int kIterations = 10;

/// Points on a circle, each with a number of its own that a generator may take for noise.
class Circle : public torch::data::datasets::Dataset<Circle> {
 public:
  torch::data::Example<> get(std::size_t index) override {
    const auto i = static_cast<double>(index);
    return {torch::tensor({std::sin(i), std::cos(i)}), torch::tensor({std::sin(3.7 * i), std::cos(2.3 * i)})};
  }
  torch::optional<std::size_t> size() const override { return 45; }  // batches of 14, 14, 14 and 3
};

torch::Tensor flat(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> parts;
  for (const auto& tensor : tensors) parts.push_back(tensor.detach().flatten());
  return torch::cat(parts);
}

/// Trains `parameters` by `loss_of(batch)`: `passes` backwards an iteration. Returns their change. Gradients are zero
/// before one iteration and not there before the next: what a replica holds of the last one must not come back.
template <class Loss>
torch::Tensor train(const Group& group, const std::vector<torch::Tensor>& parameters, const Loss& loss_of,
                    int passes = 1) {
  const auto start = flat(parameters);
  torch::optim::SGD optimizer(parameters, torch::optim::SGDOptions(0.1).momentum(0.9));
  const auto loader = make_loader(Circle(), group, test::spots_options());
  for (int iteration = 0; iteration < kIterations;) {
    for (auto& batch : loader->epoch()) {
      if (iteration % 2 == 0) {
        optimizer.zero_grad();
      } else {
        for (const auto& parameter : parameters) parameter.mutable_grad() = torch::Tensor();
      }
      for (int pass = 0; pass < passes; ++pass) loss_of(batch).backward();
      optimizer.step();
      if (++iteration == kIterations) break;
    }
  }
  return flat(parameters) - start;
}

/// x -> target, through a hidden layer.
torch::nn::Sequential perceptron(std::int64_t outputs) {
  return torch::nn::Sequential(torch::nn::Linear(2, 16), torch::nn::Tanh(), torch::nn::Linear(16, outputs));
}

// --- what is wrapped ---

/// A TorchScript module that went through an archive, made without Python.
torch::jit::Module scripted(std::uint64_t seed) {
  torch::jit::Module module("Perceptron");
  test::seeded(seed, [&] {
    module.register_parameter("hidden", torch::randn({2, 16}), false);
    module.register_parameter("output", torch::randn({16, 2}), false);
    module.register_buffer("scale", torch::rand({2}));
    return 0;
  });
  module.define(
      "def forward(self, x):\n    return torch.matmul(torch.tanh(torch.matmul(x, self.hidden)), self.output) * "
      "self.scale\n");
  for (const auto& parameter : module.parameters()) parameter.set_requires_grad(true);
  std::stringstream archive;
  module.save(archive);
  return torch::jit::load(archive);
}

torch::Tensor train_script(const Side& side) {
  auto module = scripted(side.seed);
  const auto replica = side.replicate(module);
  std::vector<torch::Tensor> parameters;
  for (const auto& parameter : module.parameters()) parameters.push_back(parameter);
  return train(side.group, parameters, [&](const Batch& batch) {
    return torch::mse_loss(module.forward({batch.data}).toTensor(), batch.target);
  });
}

/// No module at all: tensors with names. One is shared by two places, one is frozen, one is used twice in a pass.
torch::Tensor train_list(const Side& side) {
  const auto first = test::seeded(side.seed, [] { return torch::randn({2, 2}); }).requires_grad_();
  const auto frozen = torch::full({2}, 0.5 + 0.1 * static_cast<double>(side.seed));
  const auto last = torch::full({2, 2}, 0.3).requires_grad_();
  const auto replica =
      side.replicate(NamedTensors{{"first", first}, {"tied", first}, {"frozen", frozen}, {"last", last}});
  const auto change = train(side.group, {first, last}, [&](const Batch& batch) {
    const auto twice = torch::tanh(torch::matmul(torch::tanh(torch::matmul(batch.data, first)) * frozen, first));
    return torch::mse_loss(torch::matmul(twice, last), batch.target);
  });
  EXPECT_EQ(frozen[0].item<float>(), 0.6F);  // rank 0's, and as it was
  return change;
}

/// The same loss, twice an iteration: the second backward finds what the first left.
torch::Tensor train_twice_an_iteration(const Side& side) {
  auto net = test::seeded(side.seed, [] { return perceptron(2); });
  const auto replica = side.replicate(*net);
  const auto loss = [&](const Batch& batch) { return torch::mse_loss(net->forward(batch.data), batch.target); };
  return train(side.group, net->parameters(), loss, 2);
}

/// Each sample goes one of two ways, so that ranks differ in what they use; the third is never gone.
torch::Tensor train_forked(const Side& side) {
  auto ways =
      test::seeded(side.seed, [] { return torch::nn::ModuleList(perceptron(2), perceptron(2), perceptron(2)); });
  const auto replica = side.replicate(*ways);
  int not_gone = 0;
  const auto change = train(side.group, ways->parameters(), [&](const Batch& batch) {
    const auto turns = batch.data.select(1, 0).gt(0);
    auto loss = torch::zeros({});
    for (const bool turn : {false, true}) {
      const auto here = turns.eq(turn);
      if (!here.any().item<bool>()) {
        ++not_gone;
        continue;
      }
      const auto output = ways->at<torch::nn::SequentialImpl>(turn ? 1 : 0).forward(batch.data.index({here}));
      loss = loss + torch::mse_loss(output, batch.target.index({here}), at::Reduction::Sum);
    }
    return loss / batch.data.size(0);
  });
  EXPECT_TRUE(not_gone > 0 || side.group.rank() == 0) << "every batch of this rank went both ways";
  EXPECT_FALSE(ways[2]->parameters()[0].grad().defined());
  return change;
}

// --- programs around it ---

/// Two models, two optimizers, two replicas.
torch::Tensor train_gan(const Side& side) {
  auto [generator, critic] = test::seeded(side.seed, [] { return std::pair(perceptron(2), perceptron(1)); });
  const auto generator_replica = side.replicate(*generator);
  auto critic_replica = side.replicate(*critic);
  auto parameters = generator->parameters();
  for (const auto& parameter : critic->parameters()) parameters.push_back(parameter);
  const auto start = flat(parameters);
  torch::optim::SGD generator_optimizer(generator->parameters(), 0.1);
  torch::optim::SGD critic_optimizer(critic->parameters(), 0.1);
  const auto judged = [](const torch::Tensor& verdict, double truth) {
    return torch::binary_cross_entropy_with_logits(verdict, torch::full_like(verdict, truth));
  };
  const auto loader = make_loader(Circle(), side.group, test::spots_options());
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (auto& batch : loader->epoch()) {
      const auto made = generator->forward(batch.target);
      critic_optimizer.zero_grad();
      (judged(critic->forward(batch.data), 1) + judged(critic->forward(made.detach()), 0)).backward();
      critic_optimizer.step();
      generator_optimizer.zero_grad();
      judged(critic->forward(made), 1).backward();  // reaches both: two replicas synchronise in one backward
      generator_optimizer.step();
    }
  }
  return flat(parameters) - start;
}

struct ThreeLayers : torch::nn::Module {
  explicit ThreeLayers(std::uint64_t seed) {
    test::seeded(seed, [&] {
      for (const std::int64_t width : {2, 4, 6}) {
        layers.push_back(register_module(std::to_string(width), torch::nn::Linear(width, width == 6 ? 2 : width + 2)));
      }
      return 0;
    });
  }
  /// With activation checkpointing of those from `first` on. The last layer's inner backward is the first that there
  /// is.
  torch::Tensor forward(const torch::Tensor& batch, std::size_t first) {
    auto features = first > 0 ? batch : batch.clone().requires_grad_();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      features = i < first ? layers[i](features) : Recomputed::apply(features, layers[i].get());
    }
    return features;
  }
  std::vector<torch::nn::Linear> layers;
};

torch::Tensor train_checkpointed(const Side& side, std::size_t first) {
  ThreeLayers net(side.seed);
  const auto replica = side.replicate(net);
  return train(side.group, net.parameters(),
               [&](const Batch& batch) { return torch::mse_loss(net.forward(batch.data, first), batch.target); });
}
torch::Tensor train_checkpointed_but_the_first(const Side& side) { return train_checkpointed(side, 1); }
torch::Tensor train_all_checkpointed(const Side& side) { return train_checkpointed(side, 0); }

/// What only a static graph allows: a bucket that waits for two gradients of one layer, and leaves then.
torch::Tensor train_one_layer_checkpointed_twice(const Side& side) {
  const auto net = test::seeded(side.seed, [] { return std::make_shared<test::RunsAgain>(); });
  Side own = side;
  if (own.options) {
    own.options->first_bucket_bytes = own.options->bucket_bytes = 64;
    own.options->static_graph = true;
  }
  const auto replica = own.replicate(*net);
  return train(own.group, net->parameters(),
               [&](const Batch& batch) { return torch::mse_loss(net->forward(batch.data), batch.target); });
}

/// Inner backwards are parts of one: each parameter is sent once, and leaves while others are computed.
TEST(Checkpointing, OfAllLayersIsOneSynchronisation) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    test::on_ranks(ranks, [](World& world) {
      ThreeLayers net(1);
      const DataParallel replica(world, net, {.first_bucket_bytes = 64, .bucket_bytes = 64, .rebuild_buckets = false});
      for (int iteration = 0; iteration < 3; ++iteration) {
        const auto before = operations_asked(world).operations;
        net.forward(torch::ones({3, 2}) * (1 + world.rank()), 0).sum().backward();
        const auto& report = replica.report();
        ASSERT_EQ(report.buckets.size(), net.parameters().size());
        EXPECT_EQ(operations_asked(world).operations - before, report.buckets.size() + 1)
            << "and one that says which parameters got a gradient";
        EXPECT_LE(report.buckets.front().launched_us, report.last_gradient_us);
        EXPECT_TRUE(replica.parameters_without_gradient().empty());
      }
    });
  }
}

/// A layer that is run again twice has two gradients, the second when the first may have been sent.
TEST(Checkpointing, OfOneLayerTwiceIsRefusedByName) {
  test::on_ranks(2, [](World& world) {
    test::RunsAgain net;
    const DataParallel replica(world, net);
    const auto loss = net.forward(torch::ones({1, 2})).sum();
    EXPECT_EQ(test::error_of([&] { loss.backward(); }),
              "Parameter 'layer.bias' got a gradient twice in one backward, the second time after the first may have "
              "been sent: a layer that is used several times, each time under activation checkpointing, has to be "
              "checkpointed once, as a whole, or DataParallel be told static_graph = true.");
  });
}

/// The optimizer calls the loss as often as it likes, and decides by it.
torch::Tensor train_lbfgs(const Side& side) {
  auto net = test::seeded(side.seed, [] { return perceptron(2); });
  net->to(torch::kFloat64);  // what L-BFGS makes of a rounding error is large
  const auto replica = side.replicate(*net);
  const auto start = flat(net->parameters());
  torch::optim::LBFGS optimizer(net->parameters(),
                                torch::optim::LBFGSOptions(1).max_iter(6).line_search_fn("strong_wolfe"));
  const auto loader = make_loader(Circle(), side.group, {.global_batch = 45, .shuffle = false});
  for (auto& batch : loader->epoch()) {
    const auto data = batch.data.to(torch::kFloat64);
    const auto target = batch.target.to(torch::kFloat64);
    const auto closure = [&] {
      optimizer.zero_grad();
      const auto loss = torch::mse_loss(net->forward(data), target);
      loss.backward();
      return replica ? replica->mean(loss) : loss;
    };
    optimizer.step(closure);
  }
  return flat(net->parameters()) - start;
}

struct Program {
  const char* name;
  test::Training train;
};

class ModelsOn : public ::testing::TestWithParam<Program> {};
INSTANTIATE_TEST_SUITE_P(Programs, ModelsOn,
                         ::testing::Values(Program{"TorchScript", train_script}, Program{"TensorList", train_list},
                                           Program{"TwoPasses", train_twice_an_iteration},
                                           Program{"Forked", train_forked}, Program{"Gan", train_gan},
                                           Program{"Checkpointed", train_checkpointed_but_the_first},
                                           Program{"AllCheckpointed", train_all_checkpointed},
                                           Program{"CheckpointedTwice", train_one_layer_checkpointed_twice},
                                           Program{"Lbfgs", train_lbfgs}),
                         [](const auto& test) { return test.param.name; });

TEST_P(ModelsOn, AnyNumberOfRanksTrainAsOneProcess) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const auto result = parity_of(GetParam().train, ranks);
    EXPECT_LE(result.difference, test::kParityTolerance) << ranks << " ranks";
    EXPECT_TRUE(result.bits_equal) << ranks << " ranks";
  }
}

TEST_P(ModelsOn, ParityFailsWhenARanksGradientsAreLost) {
  EXPECT_GT(parity_of(GetParam().train, 3, {}, test::dropping_the_last_rank()).difference,
            100 * test::kParityTolerance);
}

}  // namespace
}  // namespace lockstep
