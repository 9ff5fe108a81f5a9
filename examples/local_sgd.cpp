// Ranks that train by themselves and meet now and then: a network learns which points of a square lie in a circle.
// Alone: ./local_sgd. On four ranks: lockstep run -n 4 ./local_sgd. DiLoCo: ./local_sgd diloco
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <memory>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "[local_sgd | diloco]", 0, 1);
  const bool diloco = one_of(words.empty() ? "local_sgd" : words[0], {"local_sgd", "diloco"}) == "diloco";
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 64), torch::nn::ReLU(),
                            torch::nn::Linear(64, 2));
  lockstep::LocalSgdOptions options;
  if (diloco) options = lockstep::diloco(/*period=*/16);
  lockstep::LocalSgd replica(world, *net, options);
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  if (diloco) {
    optimizer = std::make_unique<torch::optim::AdamW>(net->parameters(), torch::optim::AdamWOptions(3e-3));
  } else {
    optimizer = std::make_unique<torch::optim::SGD>(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  }
  lockstep::Metrics metrics(world, {"loss"});
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer->zero_grad();
      auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      replica.step(*optimizer);
      metrics.add("loss", loss.item<double>(), batch.samples);
    }
    replica.synchronise();
    const double loss = metrics.reduce()[0].second;
    const double difference = apart(world, net->parameters());
    if (world.rank() == 0) {
      std::printf("epoch %d loss %.4f apart %g fewer bytes %.1f\n", epoch, loss, difference, replica.traffic().ratio());
    }
  }
} catch (const std::exception& error) {
  return failed(error);
}
