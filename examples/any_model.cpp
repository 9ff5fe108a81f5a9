// What is no torch::nn::Module: a TorchScript module, as torch.jit.save of Python writes them, and a list of tensors.
// Alone: ./any_model. On four ranks: lockstep run -n 4 ./any_model, with the same numbers. With a module of yours that
// makes two scores of two numbers: ./any_model FILE.pt
#include <lockstep/train.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

/// Stands for a file that Python wrote.
torch::jit::Module scripted() {
  torch::jit::Module module("Perceptron");
  module.register_parameter("hidden", torch::randn({2, 64}, torch::requires_grad()), /*is_buffer=*/false);
  module.register_parameter("shift", torch::rand({64}, torch::requires_grad()), false);
  module.register_parameter("output", torch::zeros({64, 2}, torch::requires_grad()), false);
  module.define(R"(
    def forward(self, x):
      return torch.matmul(torch.relu(torch.matmul(x, self.hidden) + self.shift), self.output)
  )");
  return module;
}

/// Parameters need no more than this: whatever forward makes of them, their gradients are means over all ranks.
template <class Forward>
void train(const lockstep::World& world, const char* what, const std::vector<torch::Tensor>& parameters,
           const Forward& forward) {
  torch::optim::SGD optimizer(parameters, torch::optim::SGDOptions(0.02).momentum(0.9));
  lockstep::Metrics metrics(world, {"loss"});
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});
  double mean_loss = 0;
  for (int epoch = 1; epoch <= 5; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      const torch::Tensor loss = torch::nn::functional::cross_entropy(forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      metrics.add("loss", loss.item<double>(), batch.samples);
    }
    mean_loss = metrics.reduce()[0].second;
  }
  const double difference = apart(world, parameters);
  if (world.rank() == 0) std::printf("%s loss %.4f apart %g\n", what, mean_loss, difference);
}

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "[FILE.pt]", 0, 1);
  if (!words.empty() && !std::filesystem::is_regular_file(words[0]))
    refuse("There is no TorchScript file '" + words[0] + "'; torch.jit.save of Python writes one.");
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  auto module = words.empty() ? scripted() : torch::jit::load(words[0]);
  const lockstep::DataParallel script(world, module);
  std::vector<torch::Tensor> parameters;
  for (const auto& parameter : module.parameters()) parameters.push_back(parameter);
  train(world, "TorchScript", parameters, [&](const auto& points) { return module.forward({points}).toTensor(); });

  // A circle has a middle and a radius; that its edge is this sharp is not learned.
  const auto middle = torch::tensor({0.5, -0.5}, torch::requires_grad());
  const auto radius = torch::tensor({0.3}, torch::requires_grad());
  const auto sharpness = torch::tensor({8.0});
  const lockstep::DataParallel list(world, {{"middle", middle}, {"radius", radius}, {"sharpness", sharpness}});
  train(world, "list", {middle, radius}, [&](const auto& points) {
    const auto inside = (radius - (points - middle).norm(2, 1)) * sharpness;
    return torch::stack({-inside, inside}, 1);
  });
  if (world.rank() == 0) std::printf("radius %.3f\n", radius.item<double>());  // of about 0.8
} catch (const std::exception& error) {
  return failed(error);
}
