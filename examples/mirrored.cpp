// A small network learns which points of a square lie in a circle, in threads of one process: ./mirrored 4
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"
#include "circle.h"

using Net = torch::nn::Sequential;

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "[REPLICAS]", 0, 1);
  const auto replicas = words.empty() ? 2 : static_cast<int>(whole_number(words[0], "REPLICAS", 1, 64));
  lockstep::Mirrored<Net> mirrored(
      replicas, [] { return Net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2)); },
      [](std::vector<torch::Tensor> parameters) { return std::make_unique<torch::optim::AdamW>(parameters, 1e-2); },
      {.seed = 7});
  torch::manual_seed(7);
  const Circle circle;
  auto loader = lockstep::make_loader(circle, lockstep::World::alone(), {.global_batch = 64, .seed = 7});
  double loss = 0;
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {  // a whole batch, which the replicas share
      loss = mirrored.step({batch.data, batch.target}, [](Net& net, const auto& part) {
        return torch::nn::functional::cross_entropy(net->forward(part[0]), part[1]);
      });
    }
    std::printf("epoch %d loss %.4f\n", epoch, loss);
  }
  const auto inside = mirrored.evaluate(
      {circle.points}, [](Net& net, const auto& part) { return net->forward(part[0]).argmax(1).eq(1); });
  const auto truth = circle.points.norm(2, 1).lt(0.8);
  std::printf("accuracy %.4f\n", inside.eq(truth).to(torch::kFloat32).mean().item<double>());
} catch (const std::exception& error) {
  return failed(error);
}
