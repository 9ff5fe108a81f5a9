// Four small batches an update, whose gradients add up and are sent once, then clipped; and after each epoch an
// evaluation, to which each of 1,001 samples counts once, on any number of ranks.
// Alone: ./accumulate. On four ranks: lockstep run -n 4 ./accumulate, with the same numbers.
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

constexpr int kParts = 4;

/// For how many of `samples` the network is right, and of how many.
std::pair<std::int64_t, std::int64_t> evaluate(const lockstep::World& world, torch::nn::Sequential& net,
                                               const Circle& samples) {
  torch::NoGradGuard no_graph;
  std::vector<std::int64_t> counts(2);
  auto loader = lockstep::make_loader(samples, world, {.global_batch = 100, .shuffle = false});
  for (auto& batch : loader->epoch()) {
    if (batch.samples == 0) continue;  // the last batch may have less than one for each rank
    counts[0] += net->forward(batch.data).argmax(1).eq(batch.target).sum().item<std::int64_t>();
    counts[1] += batch.samples;
  }
  world.all_reduce(lockstep::buffer_of(counts)).wait();
  return {counts[0], counts[1]};
}

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
  lockstep::DataParallel replica(world, *net);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.4).momentum(0.9));
  lockstep::Metrics metrics(world, {"loss", "norm"});
  const Circle held_out(1001);
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 32, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    int parts = 0;
    for (auto& batch : loader->epoch()) {
      const auto backward = [&] {
        const auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
        metrics.add("loss", loss.item<double>(), batch.samples);
        (loss / kParts).backward();
      };
      if (++parts % kParts != 0) {
        const auto quiet = replica.pause();  // gradients add up here, and nothing is sent
        backward();
        continue;
      }
      backward();  // the sum of all four leaves
      metrics.add("norm", replica.clip_grad_norm(0.5), 1);
      optimizer.step();
      optimizer.zero_grad();
    }
    const auto means = metrics.reduce();
    const auto [right, of] = evaluate(world, net, held_out);
    const double difference = apart(world, net->parameters());
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f norm %.4f apart %g, held out: %lld of %lld right\n", epoch, means[0].second,
                means[1].second, difference, static_cast<long long>(right), static_cast<long long>(of));
  }
} catch (const std::exception& error) {
  return failed(error);
}
