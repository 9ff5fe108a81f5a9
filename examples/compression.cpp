// Gradients in fewer bytes: a network learns which points of a square lie in a circle, and says how many bytes ranks
// saved. Alone: ./compression. On four ranks: lockstep run -n 4 ./compression
// Products of two thin matrices unless told otherwise: ./compression int8, or another name that is in hook_of.h
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "apart.h"
#include "arguments.h"
#include "circle.h"
#include "hook_of.h"

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "[HOOK]", 0, 1);
  const auto name = one_of(words.empty() ? "power_sgd" : words[0], kHooks, "hook");
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 2));
  const auto hook = hook_of(name, world);
  lockstep::DataParallelOptions options;
  options.communication_hook = lockstep::use(hook);
  lockstep::DataParallel replica(world, *net, options);
  const double momentum = name == "deep_gradient" ? 0 : 0.9;  // that one brings its own
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.03).momentum(momentum));
  lockstep::Metrics metrics(world, {"loss"});
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      metrics.add("loss", loss.item<double>(), batch.samples);
    }
    const double loss = metrics.reduce()[0].second;
    const double difference = apart(world, net->parameters());
    if (world.rank() == 0) {
      std::printf("epoch %d loss %.4f apart %g fewer bytes %.1f, %s\n", epoch, loss, difference,
                  hook->traffic().ratio(), hook->name().c_str());
    }
  }
} catch (const std::exception& error) {
  return failed(error);
}
