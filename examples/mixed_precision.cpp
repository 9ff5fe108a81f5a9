// A network of bfloat16 parameters whose updates add up in float32 copies, with gradients clipped and metrics over all
// ranks' samples. An update with a gradient that is not a number on any rank is passed over on all.
// Alone: ./mixed_precision. On four ranks: lockstep run -n 4 ./mixed_precision
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
  net->to(torch::kBFloat16);
  lockstep::DataParallelOptions options;
  options.non_finite = lockstep::NonFinite::kSkip;
  lockstep::DataParallel replica(world, *net, options);  // gradients travel in 16 bits
  lockstep::MasterWeights masters(net->parameters());
  torch::optim::AdamW optimizer(masters.parameters(), 1e-2);
  lockstep::Metrics metrics(world, {"loss", "accuracy", "gradient norm"});
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      net->zero_grad();
      const auto scores = net->forward(batch.data.to(torch::kBFloat16)).to(torch::kFloat32);
      const auto loss = torch::nn::functional::cross_entropy(scores, batch.target);
      loss.backward();
      const double norm = replica.clip_grad_norm(1.0);
      masters.take_gradients();
      optimizer.step();
      masters.give_values();
      metrics.add("loss", loss.item<double>(), batch.samples);
      metrics.add("accuracy", scores.argmax(1).eq(batch.target).to(torch::kFloat64).mean().item<double>(),
                  batch.samples);
      metrics.add("gradient norm", norm, 1);
    }
    const auto means = metrics.reduce();  // on every rank
    if (world.rank() != 0) continue;
    std::printf("epoch %d", epoch);
    for (const auto& [name, mean] : means) std::printf(" %s %.4f", name.c_str(), mean);
    std::printf("\n");
  }
} catch (const std::exception& error) {
  return failed(error);
}
