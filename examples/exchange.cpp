// Files for other programs, and of theirs: ./exchange FOLDER begins with the weights of FOLDER/model.pt, which
// torch::save wrote, if there is one; trains; and leaves model.pt for the next and model.safetensors, which Hugging
// Face's library opens. On four ranks: lockstep run -n 4 ./exchange FOLDER
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "circle.h"

torch::nn::Sequential perceptron() {
  return torch::nn::Sequential(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
}

/// Over all of `samples`, each of which counts once.
double mean_loss(const lockstep::World& world, torch::nn::Sequential& net, const Circle& samples) {
  torch::NoGradGuard no_graph;
  lockstep::Metrics metrics(world, {"loss"});
  auto loader = lockstep::make_loader(samples, world, {.global_batch = 100, .shuffle = false});
  for (auto& batch : loader->epoch()) {
    const auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
    metrics.add("loss", loss.item<double>(), batch.samples);
  }
  return metrics.reduce()[0].second;
}

int main(int argc, char** argv) try {
  const std::filesystem::path folder = arguments(argc, argv, "FOLDER", 1, 1)[0];
  const auto archive = folder / "model.pt", exported = folder / "model.safetensors";
  auto world = lockstep::World::from_env();
  lockstep::Checkpoints checkpoints(world, folder / "checkpoints");  // makes the folder, or says at once why it cannot
  torch::manual_seed(7);
  const Circle circle;
  auto net = perceptron();
  if (std::filesystem::exists(archive)) lockstep::load_tensors(*net, lockstep::read_torch_archive(archive));
  lockstep::DataParallel replica(world, *net);
  const double before = mean_loss(world, net, circle);

  torch::optim::AdamW optimizer(net->parameters(), 3e-3);
  auto loader = lockstep::make_loader(circle, world, {.global_batch = 64, .seed = 7});
  for (auto& batch : loader->epoch()) {
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
    optimizer.step();
  }
  const double after = mean_loss(world, net, circle);

  lockstep::TrainingState state;
  state.module("model", *net);
  checkpoints.save(1, state);  // each rank its part...
  if (world.rank() == 0) {
    lockstep::export_safetensors(checkpoints.path(1), exported, "model.");  // ...and all of it in one file
    torch::save(net, archive.string());
  }
  world.barrier().wait();

  auto copy = perceptron();
  const lockstep::SafetensorsFile file(exported);
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const auto& name : file.names()) tensors.emplace_back(name, file.tensor(name));
  lockstep::load_tensors(*copy, tensors);
  const double exported_loss = mean_loss(world, copy, circle);
  if (world.rank() == 0) std::printf("loss before %.6f after %.6f exported %.6f\n", before, after, exported_loss);
} catch (const std::exception& error) {
  return failed(error);
}
