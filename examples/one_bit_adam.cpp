// Adam whose ranks exchange a bit a value: a network learns which points of a square lie in a circle. Alone:
// ./one_bit_adam. On four ranks: lockstep run -n 4 ./one_bit_adam
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 2));
  lockstep::OneBitAdam optimizer(world, net->parameters(), torch::optim::AdamOptions(3e-3), {.warmup = 64});
  lockstep::DataParallelOptions options;
  options.communication_hook = optimizer.communication_hook();
  lockstep::DataParallel replica(world, *net, options);
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
      std::printf("epoch %d loss %.4f fewer bytes %.1f, %s\n", epoch, loss, optimizer.traffic().ratio(),
                  optimizer.compresses() ? "compressed" : "warming up");
    }
  }
} catch (const std::exception& error) {
  return failed(error);
}
