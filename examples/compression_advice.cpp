// Does compression pay here? Trains a layer with all-reduce and with each hook that is named, as hook_of.h or
// one_bit_adam; says what the advisor thinks of it, and what really happened. Through shared memory: lockstep run -n 2
// ./compression_advice int8 top_k. Over TCP: LOCKSTEP_TRANSPORT=tcp ...
#include <lockstep/train.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "hook_of.h"

namespace {

constexpr int kIterations = 5;

/// The milliseconds that backward waits for communication.
double exposed_ms(torch::nn::Linear net, const lockstep::DataParallel& replica) {
  net->zero_grad();
  const auto output = net->forward(torch::randn({8, 1024}));
  (10 * output.square().mean()).backward();  // by 10: so that threshold has something to send
  return replica.report().exposed_ms;
}

/// The median of what so many iterations say, on the slowest rank.
template <class Iteration>
double median_ms(const lockstep::World& world, const Iteration& iteration) {
  std::vector<double> times;
  for (int i = 0; i < kIterations; ++i) times.push_back(iteration());
  std::sort(times.begin(), times.end());
  world.all_reduce(lockstep::buffer_of(times), lockstep::ReduceOp::kMax).wait();
  return times[times.size() / 2];
}

double median_ms_with(const lockstep::World& world, const lockstep::BucketHookPtr& hook) {
  torch::nn::Linear net(1024, 1024);
  const lockstep::DataParallel replica(world, *net, {.communication_hook = lockstep::use(hook)});
  return median_ms(world, [&] { return exposed_ms(net, replica); });
}

void say(const lockstep::World& world, const std::string& name, const lockstep::HookTraffic& traffic,
         const lockstep::Link& link, double dense_ms, double compressed_ms) {
  if (world.rank() != 0) return;
  std::printf("%s\n", lockstep::advise(name, traffic, link).sentence.c_str());
  std::printf("measured: dense %.3f ms an iteration, compressed %.3f ms\n", dense_ms, compressed_ms);
  if (const auto calibrated = lockstep::calibrated_link(world.size())) {
    std::printf("through shared memory: %s\n", lockstep::advise(name, traffic, *calibrated).sentence.c_str());
  }
}

/// Its step communicates, too, so that counts here; what is dense is its warm-up, which is Adam.
void try_one_bit_adam(const lockstep::World& world, const lockstep::Link& link) {
  torch::nn::Linear net(1024, 1024);
  lockstep::OneBitAdam optimizer(world, net->parameters(), torch::optim::AdamOptions(1e-3), {.warmup = kIterations});
  const lockstep::DataParallel replica(world, *net, {.communication_hook = optimizer.communication_hook()});
  const auto iteration = [&] {
    const double waited_ms = exposed_ms(net, replica);
    const auto begin = std::chrono::steady_clock::now();
    optimizer.step();
    return waited_ms + std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  };
  const double dense_ms = median_ms(world, iteration);
  const double compressed_ms = median_ms(world, iteration);
  say(world, "one_bit_adam", optimizer.traffic(), link, dense_ms, compressed_ms);
}

}  // namespace

int main(int argc, char** argv) {
  auto world = lockstep::World::from_env();
  torch::set_num_threads(1);
  const std::vector<std::string> names =
      argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>{"top_k"};
  const auto link = lockstep::measured_link(world);
  const double dense_ms = median_ms_with(world, lockstep::all_reduce_hook(world));
  for (const auto& name : names) {
    if (name == "one_bit_adam") {
      try_one_bit_adam(world, link);
      continue;
    }
    const auto hook = hook_of(name, world, /*warmup=*/0);
    const double compressed_ms = median_ms_with(world, hook);
    say(world, hook->name(), hook->traffic(), link, dense_ms, compressed_ms);
  }
}
