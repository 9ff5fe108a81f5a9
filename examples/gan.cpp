// Two networks against each other: one learns to make points of a circle, the other to tell them from real ones. Two
// models, two optimizers, two replicas of one group.
// Alone: ./gan. On four ranks: lockstep run -n 4 ./gan
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"

/// Points of the unit circle, each with the noise that the generator makes a point of.
struct Circle : torch::data::datasets::Dataset<Circle> {
  torch::Tensor angles = torch::rand({4096}) * 6.2831853;
  torch::Tensor points = torch::stack({angles.cos(), angles.sin()}, 1);
  torch::Tensor noise = torch::randn({4096, 4});
  torch::data::Example<> get(std::size_t i) override {
    const auto index = static_cast<std::int64_t>(i);
    return {points[index], noise[index]};
  }
  torch::optional<std::size_t> size() const override { return 4096; }
};

torch::nn::Sequential perceptron(std::int64_t inputs, std::int64_t outputs) {
  return torch::nn::Sequential(torch::nn::Linear(inputs, 64), torch::nn::LeakyReLU(), torch::nn::Linear(64, 64),
                               torch::nn::LeakyReLU(), torch::nn::Linear(64, outputs));
}

torch::Tensor judged(const torch::Tensor& verdict, double truth) {
  return torch::binary_cross_entropy_with_logits(verdict, torch::full_like(verdict, truth));
}

int main(int argc, char** argv) try {
  arguments(argc, argv);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  auto generator = perceptron(4, 2);
  auto critic = perceptron(2, 1);
  lockstep::DataParallel generator_replica(world, *generator);
  lockstep::DataParallel critic_replica(world, *critic);

  torch::optim::Adam generator_optimizer(generator->parameters(), torch::optim::AdamOptions(5e-4).betas({0.5, 0.99}));
  torch::optim::Adam critic_optimizer(critic->parameters(), torch::optim::AdamOptions(2e-3).betas({0.5, 0.99}));
  Circle circle;
  auto loader = lockstep::make_loader(circle, world, {.global_batch = 128, .seed = 7});
  for (int epoch = 1; epoch <= 10; ++epoch) {
    for (auto& batch : loader->epoch()) {
      const auto made = generator->forward(batch.target);
      critic_optimizer.zero_grad();
      (judged(critic->forward(batch.data), 1) + judged(critic->forward(made.detach()), 0)).backward();
      critic_optimizer.step();

      generator_optimizer.zero_grad();
      {
        const auto quiet = critic_replica.pause();  // the critic's gradients of this loss are thrown away: not sent
        judged(critic->forward(made), 1).backward();
      }
      generator_optimizer.step();
    }
    if (world.rank() == 0 && epoch % 5 == 0) {
      const auto made = generator->forward(circle.noise);
      std::printf("epoch %d radius %.3f spread %.3f\n", epoch, made.norm(2, 1).mean().item<double>(),
                  made.var(0).sum().sqrt().item<double>());  // of a whole circle both are 1
    }
  }
} catch (const std::exception& error) {
  return failed(error);
}
