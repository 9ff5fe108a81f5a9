// Does compression pay here? Trains a layer with all-reduce and with top-k, says what the advisor thinks of it, and
// what really happened. Through shared memory: lockstep run -n 2 ./compression_advice. Over TCP: LOCKSTEP_TRANSPORT=tcp
// ...
#include <lockstep/train.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

/// The median over iterations of the milliseconds that backward waits for communication, on the slowest rank.
double exposed_ms(const lockstep::World& world, const lockstep::BucketHookPtr& hook) {
  torch::nn::Linear net(1024, 1024);
  lockstep::DataParallelOptions options;
  options.communication_hook = lockstep::use(hook);
  lockstep::DataParallel replica(world, *net, options);
  std::vector<double> times;
  for (int iteration = 0; iteration < 5; ++iteration) {
    net->zero_grad();
    net->forward(torch::randn({8, 1024})).square().mean().backward();
    times.push_back(replica.report().exposed_ms);
  }
  std::sort(times.begin(), times.end());
  world.all_reduce(lockstep::buffer_of(times), lockstep::ReduceOp::kMax).wait();
  return times[times.size() / 2];
}

}  // namespace

int main() {
  auto world = lockstep::World::from_env();
  torch::set_num_threads(1);
  auto dense = lockstep::all_reduce_hook(world);
  auto hook = lockstep::error_feedback(lockstep::top_k_hook(world, 0.01));
  const double dense_ms = exposed_ms(world, dense);
  const double hook_ms = exposed_ms(world, hook);
  const auto advice = lockstep::advise(*hook, lockstep::measured_link(world));
  if (world.rank() != 0) return 0;
  std::printf("%s\n", advice.sentence.c_str());
  std::printf("measured: dense %.3f ms an iteration, compressed %.3f ms\n", dense_ms, hook_ms);
  if (const auto calibrated = lockstep::calibrated_link(world.size())) {
    std::printf("through shared memory: %s\n", lockstep::advise(*hook, *calibrated).sentence.c_str());
  }
}
