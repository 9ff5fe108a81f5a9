// Gradients as products of two thin matrices: a network learns which points of a square lie in a circle, with an order
// of magnitude fewer bytes between ranks, and says how many. Alone: ./compression. On four ranks: lockstep run -n 4
// ./compression
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "circle.h"

int main() {
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 2));
  auto hook = lockstep::error_feedback(lockstep::power_sgd_hook(world, 1, 7));
  lockstep::DataParallelOptions options;
  options.communication_hook = lockstep::use(hook);
  lockstep::DataParallel replica(world, *net, options);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
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
    if (world.rank() == 0) {
      std::printf("epoch %d loss %.4f fewer bytes %.1f, %s\n", epoch, loss, hook->traffic().ratio(),
                  hook->name().c_str());
    }
  }
}
