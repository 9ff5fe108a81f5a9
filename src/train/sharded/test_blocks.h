#pragma once

/// Layers, each of which is a block or none is, that any loss may use: for tests of stage 3.

#include <lockstep/sharded.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "train/test_model.h"

namespace lockstep::test {

inline constexpr std::int64_t kWidth = 6;
using Layer = std::function<torch::Tensor(const torch::Tensor&)>;
/// The loss of one batch, given the three layers.
using Use = std::function<torch::Tensor(const std::vector<Layer>& layers, const torch::Tensor& batch)>;

inline torch::nn::Linear layer(int seed) {
  torch::nn::Linear linear(kWidth, kWidth);
  torch::NoGradGuard no_grad;
  linear->weight.copy_(torch::sin(torch::arange(kWidth * kWidth, torch::kFloat32) + seed).view({kWidth, kWidth}) / 2);
  linear->bias.copy_(torch::cos(torch::arange(kWidth, torch::kFloat32) + seed));
  return linear;
}

inline torch::Tensor batch_of(int rank) {
  return torch::sin(torch::arange(3 * kWidth, torch::kFloat32) * (rank + 2)).view({3, kWidth});
}

struct Plain : torch::nn::Module {
  Plain() {
    for (int i = 0; i < 3; ++i) {
      const auto linear = register_module("layer" + std::to_string(i), layer(i));
      layers.emplace_back([linear](const torch::Tensor& x) { return linear->forward(x); });
    }
  }
  std::vector<Layer> layers;
};

struct InBlocks : torch::nn::Module {
  explicit InBlocks(Sharded& shard, int count = 3) {
    for (int i = 0; i < count; ++i) {
      const auto block = register_module("layer" + std::to_string(i), shard.wrap(layer(i)));
      blocks.push_back(block);
      layers.emplace_back([block](const torch::Tensor& x) { return block->forward(x); });
    }
  }
  std::vector<Wrapped<torch::nn::LinearImpl>> blocks;
  std::vector<Layer> layers;
};

inline torch::optim::AdamW adam(torch::nn::Module& module) {
  return torch::optim::AdamW(module.parameters(), torch::optim::AdamWOptions(0.01).weight_decay(0.1));
}

/// Parameters after four updates by the mean of all ranks' batches, on one process.
inline torch::Tensor expected(int ranks, const Use& use) {
  Plain net;
  auto optimizer = adam(net);
  for (int iteration = 0; iteration < 4; ++iteration) {
    optimizer.zero_grad();
    for (int rank = 0; rank < ranks; ++rank) (use(net.layers, batch_of(rank)) / ranks).backward();
    optimizer.step();
  }
  return test::flat_parameters(net).clone();
}

/// How far from it the blocks of some ranks end.
inline double difference(int ranks, const Use& use, const ShardedOptions& options = {}) {
  at::set_num_threads(1);
  const auto reference = expected(ranks, use);
  double worst = 0;
  std::mutex mutex;
  on_ranks(ranks, [&](World& world) {
    Sharded shard(world, options);
    InBlocks net(shard);
    shard.attach(net);
    auto optimizer = adam(net);
    for (int iteration = 0; iteration < 4; ++iteration) {
      optimizer.zero_grad();
      use(net.layers, batch_of(world.rank())).backward();
      shard.step(optimizer);
    }
    const auto whole = shard.gather();
    const std::lock_guard lock(mutex);
    worst = std::max(worst, (test::flat_parameters(net) - reference).abs().max().item<double>());
  });
  return worst;
}

inline torch::Tensor chain(const std::vector<Layer>& layers, const torch::Tensor& batch) {
  return layers[2](torch::tanh(layers[1](torch::tanh(layers[0](batch))))).square().mean();
}

}  // namespace lockstep::test
