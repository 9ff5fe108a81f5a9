// Matrix products in bfloat16, of a network whose parameters, gradients and optimizer stay in float32: one line around
// forward and loss. (Parameters in 16 bits, which are half as much to send: mixed_precision.cpp.)
// Alone: ./autocast. On four ranks: lockstep run -n 4 ./autocast
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
  lockstep::DataParallel replica(world, *net);
  torch::optim::AdamW optimizer(net->parameters(), 1e-2);
  lockstep::Metrics metrics(world, {"loss"});
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    torch::Tensor scores, loss;
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      {
        const lockstep::Autocast in_bfloat16;
        scores = net->forward(batch.data);
        loss = torch::nn::functional::cross_entropy(scores.to(torch::kFloat32), batch.target);
      }
      loss.backward();
      optimizer.step();
      metrics.add("loss", loss.item<double>(), batch.samples);
    }
    const double mean_loss = metrics.reduce()[0].second;
    const double difference = apart(world, net->parameters());
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f apart %g, scores of %s, gradients of %s\n", epoch, mean_loss, difference,
                c10::toString(scores.scalar_type()), c10::toString(net->parameters()[0].grad().scalar_type()));
  }
} catch (const std::exception& error) {
  return failed(error);
}
