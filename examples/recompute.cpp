// Activation checkpointing: blocks forget what they computed, and compute it again when backward comes to them. Less
// memory and more work. Alone: ./recompute. On four ranks: lockstep run -n 4 ./recompute, with the same losses. To
// compare, with all that is computed kept, and the same losses again: ./recompute keep
// One block that is applied four times gets four gradients in a backward, each time that it is computed again: with a
// static graph they are waited for. ./recompute tied, or ./recompute tied keep
#include <lockstep/train.h>
#include <malloc.h>
#include <torch/torch.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

/// Runs a block without a graph, and again with one when its gradients are asked for: a backward within the backward,
/// which DataParallel counts as part of the outer one.
struct Recomputed : torch::autograd::Function<Recomputed> {
  using Context = torch::autograd::AutogradContext;
  static torch::Tensor forward(Context* context, const torch::Tensor& input, torch::nn::SequentialImpl* block) {
    context->save_for_backward({input});
    context->saved_data["block"] = reinterpret_cast<std::int64_t>(block);
    return block->forward(input);
  }
  static torch::autograd::variable_list backward(Context* context, torch::autograd::variable_list gradients) {
    torch::AutoGradMode with_graph(true);
    const auto input = context->get_saved_variables()[0].detach().requires_grad_();
    auto* block = reinterpret_cast<torch::nn::SequentialImpl*>(context->saved_data["block"].toInt());
    block->forward(input).backward(gradients[0]);
    return {input.grad(), torch::Tensor()};
  }
};

struct Net : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& points, bool keep) {
    auto features = input(points);
    for (auto& block : blocks) {
      features = features + (keep ? block->forward(features) : Recomputed::apply(features, block.ptr().get()));
    }
    return output(features);
  }
  torch::nn::Linear input = register_module("input", torch::nn::Linear(2, 32));
  std::vector<torch::nn::Sequential> blocks;
  torch::nn::Linear output = register_module("output", torch::nn::Linear(32, 2));
};

/// MiB that this process has allocated.
double allocated() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
}

int main(int argc, char** argv) try {
  std::set<std::string> words;
  for (const auto& word : arguments(argc, argv, "[tied] [keep]", 0, 2)) words.insert(one_of(word, {"keep", "tied"}));
  const bool keep = words.contains("keep"), tied = words.contains("tied");
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  Net net;
  for (int i = 0; i < (tied ? 1 : 4); ++i) {
    const torch::nn::Sequential block(torch::nn::Linear(32, 256), torch::nn::GELU(), torch::nn::Linear(256, 32));
    net.blocks.push_back(net.register_module("block" + std::to_string(i), block));
  }
  if (tied) net.blocks.resize(4, net.blocks[0]);
  lockstep::DataParallel replica(world, net, {.static_graph = tied});
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  lockstep::Metrics metrics(world, {"loss", "MiB"});
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 256, .seed = 7});
  for (int epoch = 1; epoch <= 6; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      const double before = allocated();
      const auto loss = torch::nn::functional::cross_entropy(net.forward(batch.data, keep), batch.target);
      metrics.add("MiB", allocated() - before, 1);
      loss.backward();
      optimizer.step();
      metrics.add("loss", loss.item<double>(), batch.samples);
    }
    const auto means = metrics.reduce();
    const double difference = apart(world, net.parameters());
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f apart %g, kept for backward: %.3f MiB\n", epoch, means[0].second, difference,
                means[1].second);
  }
} catch (const std::exception& error) {
  return failed(error);
}
