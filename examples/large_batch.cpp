// Batches of 1,024 instead of 64, which begin as 256 and grow; LAMB, or LARS, with a learning rate that is scaled to
// them, a warm-up and a decay.
//   ./large_batch lars, or without a word for LAMB        on four ranks: lockstep run -n 4 ./large_batch
//   ./large_batch cosine, or step, or without a word for a polynomial decay: with either optimizer
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "apart.h"
#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  std::set<std::string> words;
  for (const auto& word : arguments(argc, argv, "[lars] [cosine | step]", 0, 2))
    words.insert(one_of(word, {"cosine", "lars", "step"}));
  if (words.contains("cosine") && words.contains("step"))
    refuse("'cosine' and 'step' are two ways for the learning rate to fall; give one of them.");
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::ReLU(), torch::nn::Linear(64, 2));
  lockstep::DataParallel replica(world, *net);

  constexpr std::int64_t kPart = 256, kIterations = 160;
  const lockstep::BatchWarmup parts{.first = 1, .last = 4, .iterations = 40};  // of which an update is made
  lockstep::LearningRate rate;
  rate.warmup = kIterations / 10;
  rate.decay = words.contains("cosine") ? lockstep::Decay::kCosine
               : words.contains("step") ? lockstep::Decay::kStep
                                        : lockstep::Decay::kPolynomial;
  rate.end = kIterations;       // cosine and polynomial
  rate.milestones = {80, 120};  // step: the rate falls after these...
  rate.factor = 0.1;            // ...to a tenth
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  if (words.contains("lars")) {
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
          std::printf("iteration %lld of %lld samples rate %.6f loss %.4f apart %g\n",
                      static_cast<long long>(iteration), static_cast<long long>(part * kPart),
                      optimizer->param_groups()[0].options().get_lr(), mean_loss, difference);
        }
      }
      part = 0;
      if (++iteration > kIterations) break;
    }
  }
} catch (const std::exception& error) {
  return failed(error);
}
