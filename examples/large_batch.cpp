// Batches of 1,024 instead of 64, which begin as 256 and grow; LAMB, or LARS, with a learning rate that is scaled to
// them, a warm-up and a decay.
//   ./large_batch lars, or without a word for LAMB        on four ranks: lockstep run -n 4 ./large_batch
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <memory>

#include "apart.h"
#include "circle.h"

int main(int argc, char**) {
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
  lockstep::DataParallel replica(world, *net);

  constexpr std::int64_t kPart = 256, kIterations = 160;
  const lockstep::BatchWarmup parts{.first = 1, .last = 4, .iterations = 40};  // of which an update is made
  lockstep::LearningRate rate;
  rate.warmup = kIterations / 10;
  rate.decay = lockstep::Decay::kPolynomial;
  rate.end = kIterations;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  if (argc > 1) {
    rate.peak = lockstep::scaled_linearly(0.25, 64, kPart * parts.last);  // 0.25 is good for 64 samples
    optimizer = std::make_unique<lockstep::Lars>(net->parameters(), lockstep::LarsOptions(rate.peak).trust(0.01));
  } else {
    rate.peak = lockstep::scaled_by_square_root(1e-2, 64, kPart * parts.last);
    optimizer = std::make_unique<lockstep::Lamb>(net->parameters(), lockstep::LambOptions());
  }

  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = kPart, .seed = 7});
  std::int64_t iteration = 1, part = 0;
  while (iteration <= kIterations) {
    for (auto& batch : loader->epoch()) {
      const auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      const auto part_of_loss = loss / parts.at(iteration);
      if (++part < parts.at(iteration)) {
        const auto quiet = replica.pause();  // gradients add up, and are not sent yet
        part_of_loss.backward();
        continue;
      }
      part_of_loss.backward();
      lockstep::set_learning_rate(*optimizer, rate.at(iteration));
      optimizer->step();
      optimizer->zero_grad();
      if (iteration % 32 == 0) {
        const double mean_loss = replica.mean(loss).item<double>();
        const double difference = apart(world, net->parameters());
        if (world.rank() == 0) {
          std::printf("iteration %lld of %lld samples loss %.4f apart %g\n", static_cast<long long>(iteration),
                      static_cast<long long>(part * kPart), mean_loss, difference);
        }
      }
      part = 0;
      if (++iteration > kIterations) break;
    }
  }
}
