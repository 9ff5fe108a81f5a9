// A training that is sharded over some ranks goes on at another stage and on another number of ranks, and leaves its
// model in one file, which Hugging Face's library opens.
//   lockstep run -n 3 ./reshard out 3 100      and then, at stage 1 on two,      lockstep run -n 2 ./reshard out 1 200
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <filesystem>

#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  const auto words = arguments(argc, argv, "FOLDER STAGE ITERATIONS", 3, 3);
  const std::filesystem::path folder = words[0];
  const auto stage = static_cast<int>(whole_number(words[1], "STAGE", 0, 3));
  const std::int64_t iterations = whole_number(words[2], "ITERATIONS", 0, 1'000'000'000);
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);  // every rank and every start makes the same data and the same model
  lockstep::Sharded shard(world, {.stage = stage});
  torch::nn::Sequential net(shard.wrap(torch::nn::Linear(2, 64)), torch::nn::Tanh(),
                            shard.wrap(torch::nn::Linear(64, 64)), torch::nn::Tanh(), torch::nn::Linear(64, 2));
  shard.attach(*net);
  torch::optim::AdamW optimizer(net->parameters(), 1e-2);
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 60, .seed = 7});

  lockstep::Checkpoints checkpoints(world, folder);
  lockstep::TrainingState state;  // with the Sharded's name each rank saves and loads its pieces, of whatever size
  state.module("model", *net, shard).optimizer("optimizer", optimizer, shard).loader("loader", *loader);
  const std::int64_t first = checkpoints.load(state).value_or(0);
  if (first >= iterations) {
    if (world.rank() == 0)
      std::printf("nothing to do: there are %lld iterations already\n", static_cast<long long>(first));
    return 0;
  }

  lockstep::Metrics metrics(world, {"loss"});
  std::int64_t iteration = first;
  while (iteration < iterations) {
    for (auto& batch : loader->epoch()) {
      optimizer.zero_grad();
      const auto loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();
      shard.step(optimizer);
      metrics.add("loss", loss.item<double>(), batch.samples);
      if (++iteration < iterations) continue;
      checkpoints.save(iteration, state);  // inside the loop: when it is left the loader goes on to the next epoch
      break;
    }
  }
  const double mean_loss = metrics.reduce()[0].second;
  if (world.rank() == 0) lockstep::export_safetensors(checkpoints.path(iteration), folder / "model.safetensors");

  const auto whole = shard.gather();
  double sum = 0;  // of the squares of all parameters: one number that says whether two trainings ended at one place
  for (const auto& parameter : net->parameters())
    sum += parameter.detach().to(torch::kFloat64).square().sum().item<double>();
  if (world.rank() == 0) {
    std::printf("from iteration %lld at stage %d on %d ranks: loss %.6f squares %a\n", static_cast<long long>(first),
                shard.stage(), world.size(), mean_loss, sum);
  }
} catch (const std::exception& error) {
  return failed(error);
}
