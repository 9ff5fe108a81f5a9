// What limits this training, and what it would gain: the times of its iterations, summed up, and a verdict.
//   lockstep run -n 2 ./bottleneck                          through shared memory
//   LOCKSTEP_TRANSPORT=tcp lockstep run -n 2 ./bottleneck   over a network
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::set_num_threads(1);
  torch::nn::Sequential net(torch::nn::Linear(2, 1024), torch::nn::Tanh(), torch::nn::Linear(1024, 1024),
                            torch::nn::Tanh(), torch::nn::Linear(1024, 2));
  lockstep::DataParallel replica(world, *net, {.bucket_bytes = lockstep::kAuto});
  torch::optim::SGD optimizer(net->parameters(), 1e-2);
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 128, .seed = 7});

  lockstep::TrainingLog log(world);
  int iterations = 0;
  for (auto& batch : loader->epoch()) {
    log.begin_iteration();
    optimizer.zero_grad();
    torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target).backward();
    optimizer.step();
    log.end_iteration(replica.report());
    if (++iterations == 5) log.restart();  // memory is there by now, and the buckets are laid out
  }

  // What forward and backward of a batch take on one rank while the others wait.
  const auto data = torch::randn({128 / world.size(), 2});
  log.set_alone_ms(lockstep::measured_alone_ms(world, [&] {
    const auto quiet = replica.pause();
    net->forward(data).sum().backward();
  }));
  const auto statistics = log.statistics();
  if (world.rank() == 0) std::printf("%s\n", describe(statistics).c_str());
} catch (const std::exception& error) {
  return failed(error);
}
