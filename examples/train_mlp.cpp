// A small network learns which points of a square lie in a circle.
// Alone: ./train_mlp. On four ranks: lockstep run -n 4 ./train_mlp
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();  // every rank of the job; alone, a world of one
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
  lockstep::DataParallel replica(world, *net);  // the same weights on every rank from here on
  torch::optim::AdamW optimizer(net->parameters(), 1e-2);
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    torch::Tensor loss;
    for (auto& batch : loader->epoch()) {  // this rank's slice of each global batch
      optimizer.zero_grad();
      loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();  // on return, gradients are the mean over all ranks
      optimizer.step();
    }
    if (world.rank() == 0) std::printf("epoch %d loss %.4f\n", epoch, loss.item<double>());
  }
} catch (const std::exception& error) {
  return failed(error);
}
