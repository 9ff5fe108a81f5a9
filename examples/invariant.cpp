// The same bits on 1, 2, 4 and 8 ranks, dropout and all, and also if it is stopped and goes on with another number of
// them: it prints losses as hexadecimal floats, to be compared by eye.
//   lockstep run -n 4 ./invariant out 20      and then      lockstep run -n 2 ./invariant out 40
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "FOLDER ITERATIONS", 2, 2);
  const std::int64_t iterations = whole_number(words[1], "ITERATIONS", 0, 1'000'000'000);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);  // every rank and every start makes the same data and the same model
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::Tanh(), torch::nn::Dropout(0.1),
                            torch::nn::Linear(64, 2));
  lockstep::InvariantParallel replica(world, *net, {.micro_batches = 8, .seed = 7});
  torch::optim::AdamW optimizer(net->parameters(), 1e-2);
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 60, .seed = 7});

  lockstep::Checkpoints checkpoints(world, words[0]);
  lockstep::TrainingState state;
  state.module("model", *net).optimizer("optimizer", optimizer, *net).loader("loader", *loader);
  state.counter("iteration", replica.iteration());
  std::int64_t iteration = checkpoints.load(state).value_or(0);

  while (iteration < iterations) {
    for (auto& batch : loader->epoch()) {
      const double loss = replica.backward(batch, [&](const torch::Tensor& points, const torch::Tensor& inside) {
        return torch::nn::functional::cross_entropy(net->forward(points), inside);
      });
      optimizer.step();
      ++iteration;
      if (world.rank() == 0)
        std::printf("iteration %lld loss %.4f %a\n", static_cast<long long>(iteration), loss, loss);
      if (iteration < iterations) continue;
      checkpoints.save(iteration, state);  // inside the loop: when it is left the loader goes on to the next epoch
      break;
    }
  }
} catch (const std::exception& error) {
  return failed(error);
}
