// Gradients of a linear layer: alone, then on two threads, each with its own half of the batch.
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

namespace {

torch::Tensor gradient(const lockstep::World& world, const torch::Tensor& batch) {
  torch::nn::Linear layer(4, 1);
  torch::nn::init::constant_(layer->weight, 0.5);  // a seed would not do: threads share torch's generator
  torch::nn::init::zeros_(layer->bias);
  lockstep::DataParallel replica(world, *layer);
  const auto share = batch.size(0) / world.size();
  layer->forward(batch.narrow(0, world.rank() * share, share)).pow(2).mean().backward();
  return layer->weight.grad().clone();
}

}  // namespace

int main() {
  const torch::Tensor batch = torch::arange(32, torch::kFloat32).view({8, 4});
  const torch::Tensor alone = gradient(lockstep::World::alone(), batch);
  bool right = true;
  torch::Tensor shared[2];
  lockstep::run_threads(2, [&](lockstep::World& world) { shared[world.rank()] = gradient(world, batch); });
  for (const auto& each : shared) right = right && torch::allclose(alone, each);
  std::printf("gradients %s\n", right ? "agree" : "differ");
  return right ? 0 : 1;
}
