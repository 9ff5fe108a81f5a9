// What DataParallel adds to an iteration: every rank trains the same network at the same time, first on its own, then
// in lockstep, in turns. `lockstep run -n 2 bench/data_parallel_cost [LAYERS [WIDTH [BATCH]]]`
#include <fmt/format.h>
#include <lockstep/train.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 5;
constexpr int kIterations = 12;
constexpr int kWarmUp = 3;

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Times {
  std::vector<double> iteration_ms;
  std::vector<double> backward_ms;
};

void train(torch::nn::Sequential& net, std::int64_t width, std::int64_t batch, const lockstep::Group& group,
           Times& times) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  torch::optim::SGD optimizer(net->parameters(), 1e-3);
  const auto input = torch::randn({batch, width});
  group.barrier().wait();
  for (int i = 0; i < kIterations; ++i) {
    const auto start = Clock::now();
    optimizer.zero_grad();
    const auto loss = net->forward(input).square().mean();
    const auto before_backward = Clock::now();
    loss.backward();
    const double backward_ms = since(before_backward);
    optimizer.step();
    if (i < kWarmUp) continue;
    times.iteration_ms.push_back(since(start));
    times.backward_ms.push_back(backward_ms);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, std::int64_t fallback) { return argc > i ? std::atoll(argv[i]) : fallback; };
  const std::int64_t layers = argument(1, 10);
  const std::int64_t width = argument(2, 1024);
  const std::int64_t batch = argument(3, 256);
  const auto world = lockstep::World::from_env();
  at::set_num_threads(1);
  torch::manual_seed(1);
  torch::nn::Sequential net;
  for (std::int64_t i = 0; i < layers; ++i) {
    net->push_back(torch::nn::Linear(width, width));
    net->push_back(torch::nn::Tanh());
  }
  Times alone;
  Times together;
  double exposed_ms = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (auto& parameter : net->parameters()) parameter.mutable_grad() = torch::Tensor();
    train(net, width, batch, world, alone);
    const lockstep::DataParallel replica(world, *net);
    train(net, width, batch, world, together);
    exposed_ms = replica.report().exposed_ms;
  }
  if (world.rank() != 0) return 0;
  std::int64_t parameters = 0;
  for (const auto& parameter : net->parameters()) parameters += parameter.numel();
  fmt::print("{} ranks on {}; {:.1f} M parameters, batch {} a rank; medians of {} iterations on rank 0\n", world.size(),
             processor(), static_cast<double>(parameters) / 1e6, batch, together.iteration_ms.size());
  const auto row = [](const char* what, double own, double lockstep) {
    fmt::print("{:9}  on its own {:8.2f} ms  in lockstep {:8.2f} ms  added {:6.2f} ms\n", what, own, lockstep,
               lockstep - own);
  };
  row("iteration", median(alone.iteration_ms), median(together.iteration_ms));
  row("backward", median(alone.backward_ms), median(together.backward_ms));
  fmt::print("exposed in the last backward, as reported: {:.2f} ms\n", exposed_ms);
}
