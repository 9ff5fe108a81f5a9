// An optimizer that asks for the loss as often as it likes, and decides by it: L-BFGS, on all samples at once.
// Alone: ./closures. On four ranks: lockstep run -n 4 ./closures, with the same numbers.
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
  torch::nn::Linear net(4, 2);  // scores of x, y, x^2 and y^2
  net->to(torch::kFloat64);     // L-BFGS makes much of a rounding error
  lockstep::DataParallel replica(world, *net);
  torch::optim::LBFGS optimizer(net->parameters(),
                                torch::optim::LBFGSOptions(1).max_iter(5).line_search_fn("strong_wolfe"));
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 4096});
  for (int epoch = 1; epoch <= 4; ++epoch) {
    for (auto& batch : loader->epoch()) {
      const auto points = batch.data.to(torch::kFloat64);
      const auto features = torch::cat({points, points.square()}, 1);
      torch::Tensor loss;
      int evaluations = 0;
      optimizer.step([&] {
        optimizer.zero_grad();
        const auto own = torch::nn::functional::cross_entropy(net->forward(features), batch.target) +
                         1e-4 * net->weight.square().sum();
        own.backward();
        ++evaluations;
        loss = replica.mean(own);
        return loss;  // the mean over all ranks, so that all decide alike
      });
      const double difference = apart(world, net->parameters());
      if (world.rank() != 0) continue;
      std::printf("epoch %d loss %.6f after %d evaluations, apart %g\n", epoch, loss.item<double>(), evaluations,
                  difference);
    }
  }
} catch (const std::exception& error) {
  return failed(error);
}
