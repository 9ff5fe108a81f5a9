// A training that may be killed at any moment: started again, it goes on from its last checkpoint, on as many ranks as
// it then has.
//   lockstep run -n 3 ./resume out 200      and, after it was killed,      lockstep run -n 2 ./resume out 200
// With dropout each rank draws random numbers of its own: ./resume out 200 dropout. On as many ranks as before it goes
// on with the same bits, unless it forgets where they were with their random numbers: ./resume out 200 forgetful
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>

#include "arguments.h"

/// Points of a square, and whether they lie in a circle. Point i depends on i only.
struct Circle : torch::data::datasets::Dataset<Circle> {
  torch::data::Example<> get(std::size_t i) override {
    const auto x = static_cast<double>(i * 37 % 1024) / 512 - 1, y = static_cast<double>(i * 101 % 1021) / 510 - 1;
    return {torch::tensor({x, y}, torch::kFloat32), torch::tensor(x * x + y * y < 0.64 ? 1 : 0, torch::kInt64)};
  }
  torch::optional<std::size_t> size() const override { return 1024; }
};

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "FOLDER ITERATIONS [none | dropout | forgetful]", 2, 3);
  const std::int64_t iterations = whole_number(words[1], "ITERATIONS", 0, 1'000'000'000);
  const auto random = one_of(words.size() > 2 ? words[2] : "none", {"none", "dropout", "forgetful"});
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  torch::nn::Sequential net(torch::nn::Linear(2, 64), torch::nn::Tanh(), torch::nn::Dropout(random == "none" ? 0 : 0.2),
                            torch::nn::Linear(64, 2));
  torch::manual_seed(7 + static_cast<std::uint64_t>(world.rank()));  // from here on, numbers of its own on each rank
  lockstep::DataParallel replica(world, *net);
  torch::optim::AdamW optimizer(net->parameters(), 1e-2);
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});

  lockstep::Checkpoints checkpoints(world, words[0], {.keep = 2});
  lockstep::TrainingState state;  // all that has to come back
  state.module("model", *net).optimizer("optimizer", optimizer, *net).loader("loader", *loader);
  if (random != "forgetful") state.random("random");
  std::int64_t iteration = checkpoints.load(state).value_or(0);
  if (world.rank() == 0)
    std::printf("from iteration %lld on %d ranks\n", static_cast<long long>(iteration), world.size());

  torch::Tensor loss = torch::zeros({});
  while (iteration < iterations) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      ++iteration;
      if (iteration % 10 == 0) checkpoints.save_async(iteration, state);  // goes on while this trains
      if (iteration == iterations) break;
      if (world.rank() == 0 && iteration % 10 == 0) {
        std::printf("iteration %lld loss %.4f\n", static_cast<long long>(iteration), loss.item<double>());
        std::fflush(stdout);
      }
    }
  }
  checkpoints.wait();
  double sum = 0;  // of the squares of all parameters: one number that says whether two trainings ended at one place
  for (const auto& parameter : net->parameters())
    sum += parameter.detach().to(torch::kFloat64).square().sum().item<double>();
  if (world.rank() == 0) std::printf("done: squares %a, saving stalled %.2f ms\n", sum, checkpoints.report().stall_ms);
} catch (const std::exception& error) {  // on every rank the same
  return failed(error);
}
