// float16, with a loss that is scaled so that small gradients do not vanish. Where one overflows on any rank, all ranks
// pass over the update and go on with half the scale. (bfloat16 needs no scale: mixed_precision.cpp.)
// Alone: ./half_precision. On four ranks: lockstep run -n 4 ./half_precision
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <vector>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  const auto half = [](const torch::Tensor& values) { return values.to(torch::kFloat16).requires_grad_(); };
  const auto hidden = half(torch::randn({2, 64})), shift = half(torch::rand(64)), output = half(torch::zeros({64, 2}));
  const std::vector<torch::Tensor> parameters = {hidden, shift, output};
  const auto forward = [&](const torch::Tensor& points) {  // processors keep float16, and compute in float32
    const auto features = torch::relu(points.matmul(hidden.to(torch::kFloat32)) + shift.to(torch::kFloat32));
    return features.matmul(output.to(torch::kFloat32));
  };

  lockstep::DataParallel replica(world, {{"hidden", hidden}, {"shift", shift}, {"output", output}});
  lockstep::MasterWeights masters(parameters);
  torch::optim::SGD optimizer(masters.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  lockstep::LossScaler scaler({.scale = 1 << 24, .growth_interval = 100});
  lockstep::Metrics metrics(world, {"loss"});
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      for (const auto& parameter : parameters) parameter.mutable_grad().reset();
      const auto loss = torch::nn::functional::cross_entropy(forward(batch.data), batch.target);
      scaler.scale(loss).backward();
      masters.take_gradients();
      scaler.step(optimizer);  // or nothing: alike on all ranks, which have the same gradients
      masters.give_values();
      metrics.add("loss", loss.item<double>(), batch.samples);
    }
    const double mean_loss = metrics.reduce()[0].second;
    const double difference = apart(world, masters.parameters());
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f apart %g skipped %d scale %.0f\n", epoch, mean_loss, difference, scaler.skipped(),
                scaler.scale());
  }
} catch (const std::exception& error) {
  return failed(error);
}
