// Does compression pay here? Trains a layer with all-reduce and with each hook that is named, as hook_of.h or
// one_bit_adam; says what the advisor thinks of it, and what really happened. Through shared memory: lockstep run -n 2
// ./compression_advice int8 top_k. Over TCP: LOCKSTEP_TRANSPORT=tcp ...
#include <lockstep/train.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "hook_of.h"

namespace {

constexpr int kIterations = 2;

/// The milliseconds that backward waits for communication.
double exposed_ms(torch::nn::Linear net, const lockstep::DataParallel& replica) {
  net->zero_grad();
  const auto output = net->forward(torch::randn({8, 1024}));
  (10 * output.square().mean()).backward();  // by 10: so that threshold has something to send
  return replica.report().exposed_ms;
}

/// Each iteration takes as long as on its slowest rank.
double quickest(const lockstep::World& world, std::vector<double> times) {
  world.all_reduce(lockstep::buffer_of(times), lockstep::ReduceOp::kMax).wait();
  return *std::min_element(times.begin(), times.end());
}

/// The quickest of so many iterations of each, by turns, so that both see the same load.
template <class Dense, class Compressed>
std::pair<double, double> quickest_ms(const lockstep::World& world, const Dense& dense, const Compressed& compressed) {
  std::vector<double> dense_ms, compressed_ms;
  compressed();  // sets up what it keeps
  for (int i = 0; i < kIterations; ++i) {
    dense_ms.push_back(dense());
    compressed_ms.push_back(compressed());
  }
  return {quickest(world, dense_ms), quickest(world, compressed_ms)};
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

template <class Dense>
void try_hook(const lockstep::World& world, const lockstep::BucketHookPtr& hook, const lockstep::Link& link,
              const Dense& dense) {
  torch::nn::Linear net(1024, 1024);
  const lockstep::DataParallel replica(world, *net, {.communication_hook = lockstep::use(hook)});
  const auto [dense_ms, compressed_ms] = quickest_ms(world, dense, [&] { return exposed_ms(net, replica); });
  say(world, hook->name(), hook->traffic(), link, dense_ms, compressed_ms);
}

/// A layer whose optimizer communicates in its step, too, so that counts here.
struct WithOneBitAdam {
  WithOneBitAdam(const lockstep::World& world, int warmup)
      : optimizer(world, net->parameters(), torch::optim::AdamOptions(1e-3), {.warmup = warmup}),
        replica(world, *net, {.communication_hook = optimizer.communication_hook()}) {}

  double iteration_ms() {
    const double waited_ms = exposed_ms(net, replica);
    const auto begin = std::chrono::steady_clock::now();
    optimizer.step();
    return waited_ms + std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

  torch::nn::Linear net{1024, 1024};
  lockstep::OneBitAdam optimizer;
  lockstep::DataParallel replica;
};

/// What is dense is its warm-up, which is Adam.
void try_one_bit_adam(const lockstep::World& world, const lockstep::Link& link) {
  WithOneBitAdam dense(world, kIterations), compressed(world, 1);
  const auto [dense_ms, compressed_ms] = quickest_ms(
      world, [&] { return dense.iteration_ms(); }, [&] { return compressed.iteration_ms(); });
  say(world, "one_bit_adam", compressed.optimizer.traffic(), link, dense_ms, compressed_ms);
}

}  // namespace

int main(int argc, char** argv) try {
  auto names = arguments(argc, argv, "[HOOK | one_bit_adam]...", 0, 64);
  if (names.empty()) names = {"top_k"};
  for (const auto& name : names)
    if (name != "one_bit_adam") one_of(name, kHooks, "hook");
  auto world = lockstep::World::from_env();
  torch::set_num_threads(1);
  if (world.size() == 1)
    refuse("Alone there is nothing to compress, as nothing is sent: lockstep run -n 2 ./compression_advice");
  const auto link = lockstep::measured_link(world);
  torch::nn::Linear net(1024, 1024);
  const auto all_reduce = lockstep::use(lockstep::all_reduce_hook(world));
  const lockstep::DataParallel replica(world, *net, {.communication_hook = all_reduce});
  for (const auto& name : names) {
    if (name == "one_bit_adam") {
      try_one_bit_adam(world, link);
    } else {
      try_hook(world, hook_of(name, world, /*warmup=*/0), link, [&] { return exposed_ms(net, replica); });
    }
  }
} catch (const std::exception& error) {
  return failed(error);
}
