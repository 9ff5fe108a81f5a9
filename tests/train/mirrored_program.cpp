// Trains a network with dropout for 20 iterations and prints a hash of its parameters: under `lockstep run` as one of
// several processes, and with `mirrored N` as N replicas in this one.
#include "train/test_model.h"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <string_view>

namespace {

using namespace lockstep;

constexpr std::uint64_t kSeed = 5;
constexpr int kEpochs = 5;

struct DroppingNet : test::SmallNet {
  torch::Tensor forward(const torch::Tensor& images) {
    return test::SmallNet::forward(torch::dropout(images, 0.3, is_training()));
  }
};
using Net = std::shared_ptr<DroppingNet>;

std::unique_ptr<torch::optim::Optimizer> make_optimizer(std::vector<torch::Tensor> parameters) {
  return std::make_unique<torch::optim::SGD>(std::move(parameters), torch::optim::SGDOptions(0.1).momentum(0.9));
}

torch::Tensor loss_of(Net& net, const std::vector<torch::Tensor>& part) {
  return torch::nn::functional::cross_entropy(net->forward(part[0]), part[1]);
}

void print_hash(const torch::nn::Module& module) {
  const auto flat = test::flat_parameters(module);
  const std::string_view bytes(static_cast<const char*>(flat.data_ptr()), flat.nbytes());
  fmt::print("parameters {:016x}\n", std::hash<std::string_view>{}(bytes));
}

void train(World& world) {
  at::set_num_threads(1);
  torch::manual_seed(kSeed + static_cast<std::uint64_t>(world.rank()));
  Net net = std::make_shared<DroppingNet>();
  const DataParallel replica(world, *net);
  const auto optimizer = make_optimizer(net->parameters());
  const auto loader = make_loader(test::spots(), world, test::spots_options());
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (auto& batch : loader->epoch()) {
      optimizer->zero_grad();
      loss_of(net, {batch.data, batch.target}).backward();
      optimizer->step();
    }
  }
  if (world.rank() == 0) print_hash(*net);
}

void train_mirrored(int replicas) {
  Mirrored<Net> mirrored(replicas, [] { return std::make_shared<DroppingNet>(); }, make_optimizer, {.seed = kSeed});
  const auto loader = make_loader(test::spots(), World::alone(), test::spots_options());
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (auto& batch : loader->epoch()) mirrored.step({batch.data, batch.target}, loss_of);
  }
  print_hash(*mirrored.model());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "mirrored") {
    train_mirrored(std::atoi(argv[2]));
  } else {
    auto world = World::from_env();
    train(world);
  }
}
