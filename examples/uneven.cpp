// Ranks that have different numbers of batches, from torch's own data loader.
//   lockstep run -n 2 ./uneven          those that run out shadow the others
//   lockstep run -n 2 ./uneven stop     all stop, with an Error that says who ran out
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "[shadow | stop]", 0, 1);
  const bool stop = one_of(words.empty() ? "shadow" : words[0], {"shadow", "stop"}) == "stop";
  const auto uneven = stop ? lockstep::Uneven::kError : lockstep::Uneven::kShadow;
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::Tanh(), torch::nn::Linear(64, 2));
  lockstep::DataParallel replica(world, *net);
  torch::optim::AdamW optimizer(net->parameters(), 1e-2);

  // Each rank has found a different part of the data: 1024, 1536, 2048 ... points.
  auto loader = torch::data::make_data_loader(
      Circle().map(torch::data::transforms::Stack<>()),
      torch::data::samplers::RandomSampler(1024 + 512 * static_cast<std::int64_t>(world.rank())), 64);
  for (int epoch = 0; epoch < 8; ++epoch) {
    int batches = 0;
    torch::Tensor loss;
    for (auto& batch : lockstep::join_batches(world, *loader, uneven)) {
      optimizer.zero_grad();
      loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      loss = replica.mean(loss);  // of the ranks that have a batch
      optimizer.step();
      ++batches;
    }
    if (world.rank() == 0) std::printf("epoch %d: %d batches, loss %.4f\n", epoch, batches, loss.item<double>());
  }
} catch (const std::exception& error) {
  return failed(error);
}
