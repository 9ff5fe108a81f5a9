#pragma once

/// What the tests of sharding train: the network of train/test_model.h with any optimizer, alone and sharded.

#include <lockstep/mixed_precision.h>
#include <lockstep/optim.h>
#include <lockstep/sharded.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "group/thread_world.h"
#include "train/test_model.h"

namespace lockstep::test {

/// The same network of the same values, of wrapped blocks and a layer that is not. It has what `net` had.
struct BlockNet : torch::nn::Module {
  BlockNet(SmallNet& net, Sharded& shard)
      : convolution(register_module("convolution", shard.wrap(net.convolution))),
        normalisation(register_module("normalisation", shard.wrap(net.normalisation))),
        hidden(register_module("hidden", shard.wrap(net.hidden))),
        output(register_module("output", net.output)) {}
  torch::Tensor forward(const torch::Tensor& images) {
    const auto features = torch::gelu(convolution(images)).flatten(1);
    return output(torch::tanh(hidden(normalisation(features))));
  }
  Wrapped<torch::nn::Conv2dImpl> convolution;
  Wrapped<torch::nn::LayerNormImpl> normalisation;
  Wrapped<torch::nn::LinearImpl> hidden;
  torch::nn::Linear output;
};

/// Two parameter groups of every optimizer that Sharded takes, with the options that add state.
template <class Net>
std::unique_ptr<torch::optim::Optimizer> optimizer_named(const std::string& name, Net& net) {
  const auto in_groups = [&net](auto first, auto second) {
    std::vector<torch::Tensor> head = net.output->parameters();
    std::vector<torch::Tensor> body;
    for (const auto& child : net.children()) {
      if (child.get() == net.output.get()) continue;
      for (const auto& parameter : child->parameters()) body.push_back(parameter);
    }
    using Options = decltype(first);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(body, std::make_unique<Options>(first));
    groups.emplace_back(head, std::make_unique<Options>(second));
    return groups;
  };
  using namespace torch::optim;
  if (name == "SGD") {
    return std::make_unique<SGD>(
        in_groups(SGDOptions(0.1).momentum(0.9), SGDOptions(0.05).momentum(0.5).weight_decay(0.01)), SGDOptions(0.1));
  }
  if (name == "Adam") {
    return std::make_unique<Adam>(in_groups(AdamOptions(0.01), AdamOptions(0.005).weight_decay(0.01).amsgrad(true)));
  }
  if (name == "AdamW") {
    return std::make_unique<AdamW>(in_groups(AdamWOptions(0.01).weight_decay(0.1), AdamWOptions(0.005)));
  }
  if (name == "RMSprop") {
    return std::make_unique<RMSprop>(
        in_groups(RMSpropOptions(0.003), RMSpropOptions(0.001).momentum(0.9).centered(true)));
  }
  if (name == "LARS") {
    return std::make_unique<Lars>(
        in_groups(LarsOptions(1).trust(0.05).weight_decay(0.01), LarsOptions(0.1).momentum(0).layerwise(false)),
        LarsOptions(1));
  }
  if (name == "LAMB") {
    return std::make_unique<Lamb>(in_groups(LambOptions(0.02).weight_decay(0.1), LambOptions(0.01).layerwise(false)),
                                  LambOptions());
  }
  return std::make_unique<Adagrad>(in_groups(AdagradOptions(0.02), AdagradOptions(0.01).lr_decay(0.1)));
}

inline const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> kNames{"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LARS", "LAMB"};
  return kNames;
}

/// One that nothing is known of, which steps another one: so the norms of LARS and LAMB are of what lies here.
class Disguised : public torch::optim::Optimizer {
 public:
  explicit Disguised(std::unique_ptr<torch::optim::Optimizer> inner)
      : Optimizer(inner->param_groups(), std::make_unique<LambOptions>()), inner_(std::move(inner)) {}
  torch::Tensor step(LossClosure) override { return inner_->step(); }

 private:
  std::unique_ptr<torch::optim::Optimizer> inner_;
};

struct ShardedTraining {
  std::string optimizer = "Adam";
  bool disguised = false;  ///< a planted mistake
  Sharding sharding = Sharding::kWorld;
  /// A planted mistake: the group that is sharded over, whose ranks hear nothing of the others.
  std::optional<Group> apart;
  GatherAs gather_as = GatherAs::kFloat32;
  double max_norm = 0;      ///< clips if above 0
  bool accumulate = false;  ///< two batches an update, the first of them under pause()
  bool scaled = false;      ///< the last layer's output in float16, with a LossScaler; the third update overflows
  /// Called before each step: for planting mistakes.
  std::function<void(const std::vector<torch::Tensor>& parameters)> tamper;
};

/// What gathers as bfloat16 are to one process: it computes with rounded parameters, and its optimizer with others.
class Rounded {
 public:
  explicit Rounded(const torch::nn::Module& module) : parameters_(module.parameters()) { round(); }
  void round() {
    const torch::NoGradGuard no_grad;
    exact_.clear();
    for (auto& parameter : parameters_) {
      exact_.push_back(parameter.detach().clone());
      parameter.copy_(parameter.to(torch::kBFloat16));
    }
  }
  void restore() {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < exact_.size(); ++i) parameters_[i].copy_(exact_[i]);
  }

 private:
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> exact_;
};

/// Trains for 15 iterations and returns the change of the parameters, which are whole before and after. Without a
/// shard: one process, plain libtorch.
template <class Net>
torch::Tensor train_sharded(Net& net, const Group& group, Sharded* shard, const ShardedTraining& what = {}) {
  constexpr int kIterations = 15;
  const auto values = [&] {
    const auto whole = shard ? std::make_unique<Sharded::Whole>(shard->gather()) : nullptr;
    return flat_parameters(net).clone();
  };
  const auto start = values();
  auto optimizer = optimizer_named(what.optimizer, net);
  if (what.disguised) optimizer = std::make_unique<Disguised>(std::move(optimizer));
  const auto loader = make_loader(spots(), group, spots_options());
  int iteration = 0;
  int batches = 0;
  LossScaler scaler({.scale = 1024});
  const auto backward = [&](Batch& batch) {
    const auto scores = net.forward(batch.data);
    if (!what.scaled) return torch::nn::functional::cross_entropy(scores, batch.target).backward();
    const auto half = scores.to(torch::kFloat16).to(torch::kFloat32);
    const auto loss = torch::nn::functional::cross_entropy(half, batch.target);
    scaler.scale(loss * (iteration == 2 ? 1e9 : 1)).backward();
  };
  const auto step = [&] {
    if (!what.scaled) return shard ? shard->step(*optimizer) : (void)optimizer->step();
    shard ? scaler.step(*optimizer, *shard) : scaler.step(*optimizer);
  };
  std::optional<Rounded> rounded;
  if (!shard && what.gather_as == GatherAs::kBfloat16) rounded.emplace(net);
  while (iteration < kIterations) {
    for (auto& batch : loader->epoch()) {
      if (shard && what.apart) shard->samples(batch.samples);  // which the loader told the whole group only
      const bool first = !what.accumulate || batches % 2 == 0;
      ++batches;
      if (first) optimizer->zero_grad();
      if (what.accumulate && first) {
        const auto quiet = shard ? std::make_unique<Sharded::Pause>(shard->pause()) : nullptr;
        backward(batch);
        continue;
      }
      backward(batch);
      if (what.tamper) what.tamper(net.parameters());
      if (what.max_norm > 0) {
        shard ? shard->clip_grad_norm(what.max_norm)
              : torch::nn::utils::clip_grad_norm_(net.parameters(), what.max_norm);
      }
      if (rounded) rounded->restore();
      step();
      if (rounded) rounded->round();
      if (++iteration == kIterations) break;
    }
  }
  if (rounded) rounded->restore();
  return values() - start;
}

/// Makes the network of `seed`, shards it with small buckets, so that there are several and some end inside a
/// parameter, and trains it.
inline torch::Tensor train_sharded(const Group& group, int stage, std::uint64_t seed, const ShardedTraining& what) {
  const auto net = make_net(seed);
  Sharded shard(what.apart.value_or(group), {.stage = stage,
                                             .sharding = what.sharding,
                                             .gather_as = what.gather_as,
                                             .first_bucket_bytes = 1024,
                                             .bucket_bytes = 4096});
  if (stage < 3) {
    shard.attach(*net);
    return train_sharded(*net, group, &shard, what);
  }
  BlockNet blocks(*net, shard);
  shard.attach(blocks);
  return train_sharded(blocks, group, &shard, what);
}

/// The change of the parameters of one process, which computes with one thread from here on.
inline torch::Tensor train_alone(const ShardedTraining& what) {
  at::set_num_threads(1);
  return train_sharded(*make_net(1), World::alone(), nullptr, what);
}

/// The change of the parameters on each rank. Only rank 0 starts as the single process does.
inline std::vector<torch::Tensor> train_on(int ranks, int stage, const ShardedTraining& what) {
  std::vector<torch::Tensor> changes(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](World& world) {
    const auto seed = static_cast<std::uint64_t>(1 + world.rank());
    changes[static_cast<std::size_t>(world.rank())] = train_sharded(world, stage, seed, what);
  });
  return changes;
}

inline double relative_difference(const torch::Tensor& change, const torch::Tensor& expected) {
  return ((change - expected).norm() / expected.norm()).item<double>();
}

}  // namespace lockstep::test
