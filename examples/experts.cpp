// Parts of a model that not every rank uses: each point is for the expert of its quarter of the square, and in small
// batches a rank has points for few of them. Gradients are means over all ranks all the same. What no rank uses, as an
// expert for points outside of the square, is said by name, with what to do.
// Alone: ./experts. On four ranks: lockstep run -n 4 ./experts, with the same losses.
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <string>
#include <vector>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

struct Experts : torch::nn::Module {
  Experts() {
    for (const char* name : {"lower_left", "lower_right", "upper_left", "upper_right", "outside"}) {
      const torch::nn::Sequential expert(torch::nn::Linear(2, 16), torch::nn::Tanh(), torch::nn::Linear(16, 2));
      experts.push_back(register_module(name, expert));
    }
  }
  torch::Tensor forward(const torch::Tensor& points) {
    const auto right = points.gt(0).to(torch::kInt64);
    const auto outside = points.abs().amax(1).gt(1);
    const auto choice = torch::where(outside, 4, right.select(1, 0) + 2 * right.select(1, 1));
    auto scores = torch::zeros({points.size(0), 2});
    used = 0;
    for (std::size_t i = 0; i < experts.size(); ++i) {
      const auto mine = choice.eq(static_cast<std::int64_t>(i)).nonzero().squeeze(1);
      if (mine.numel() == 0) continue;  // so backward does not reach it
      scores = scores.index_add(0, mine, experts[i]->forward(points.index_select(0, mine)));
      ++used;
    }
    return scores;
  }
  std::vector<torch::nn::Sequential> experts;
  int used = 0;
};

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  Experts net;
  lockstep::DataParallel replica(world, net);
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  lockstep::Metrics metrics(world, {"loss", "experts"});
  lockstep::TrainingLog log(world);
  auto loader = lockstep::make_loader(Circle(1024), world, {.global_batch = 16, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      log.begin_iteration();
      optimizer.zero_grad();
      const auto loss = torch::nn::functional::cross_entropy(net.forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      log.end_iteration(replica.report());
      metrics.add("loss", loss.item<double>(), batch.samples);
      metrics.add("experts", net.used, 1);
    }
    const auto means = metrics.reduce();
    const double difference = apart(world, net.parameters());
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f apart %g, a rank used %.1f experts\n", epoch, means[0].second, difference,
                means[1].second);
  }
  const auto statistics = log.statistics();
  if (world.rank() == 0) std::printf("%s\n", describe(statistics).c_str());
} catch (const std::exception& error) {
  return failed(error);
}
