// A batch of 1,024 instead of 64 with LAMB, a learning rate that is scaled to it, a warm-up and a decay.
// Alone: ./large_batch. On four ranks: lockstep run -n 4 ./large_batch
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "circle.h"

int main() {
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
  lockstep::DataParallel replica(world, *net);

  constexpr std::int64_t kGlobalBatch = 1024, kIterations = 160;
  lockstep::LearningRate rate;  // 0.01 is good for 64 samples
  rate.peak = lockstep::scaled_by_square_root(1e-2, 64, kGlobalBatch);
  rate.warmup = kIterations / 10;
  rate.decay = lockstep::Decay::kPolynomial;
  rate.end = kIterations;
  lockstep::Lamb optimizer(net->parameters(), lockstep::LambOptions());

  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = kGlobalBatch, .seed = 7});
  std::int64_t iteration = 1;
  while (iteration <= kIterations) {
    torch::Tensor loss;
    for (auto& batch : loader->epoch()) {
      lockstep::set_learning_rate(optimizer, rate.at(iteration++));
      optimizer.zero_grad();
      loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
    }
    if (world.rank() == 0 && iteration % 32 == 1)
      std::printf("iteration %lld loss %.4f\n", static_cast<long long>(iteration - 1), loss.item<double>());
  }
}
