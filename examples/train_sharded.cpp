// A network whose parameters, gradients and optimizer state are shared out among the ranks (ZeRO, FSDP).
// On four ranks, stage 2 instead of 3: lockstep run -n 4 ./train_sharded 2
// More words say more: "lamb" the optimizer, "host" a copy on each host, "bf16" or "int8" what gathers carry, "keep"
// that blocks stay whole from forward to backward.
#include <lockstep/train.h>
#include <torch/torch.h>

#include <cstdio>
#include <memory>
#include <string>

#include "arguments.h"
#include "circle.h"

int main(int argc, char** argv) try {
  lockstep::ShardedOptions options;
  bool lamb = false;
  for (const auto& word : arguments(argc, argv, "[0 | 1 | 2 | 3] [lamb] [host] [bf16 | int8] [keep]", 0, 5)) {
    one_of(word, {"0", "1", "2", "3", "lamb", "host", "bf16", "int8", "keep"});
    if (word == "lamb") {
      lamb = true;
    } else if (word == "host") {
      options.sharding = lockstep::Sharding::kHost;
    } else if (word == "bf16") {
      options.gather_as = lockstep::GatherAs::kBfloat16;
    } else if (word == "int8") {
      options.gather_as = lockstep::GatherAs::kInt8Blocks;
    } else if (word == "keep") {
      options.reshard_after_forward = false;
    } else {
      options.stage = std::stoi(word);
    }
  }
  auto world = lockstep::World::from_env();
  torch::manual_seed(7);
  lockstep::Sharded shard(world, options);
  torch::nn::Sequential net(shard.wrap(torch::nn::Linear(2, 64)), torch::nn::ReLU(),  // whole only while they run
                            shard.wrap(torch::nn::Linear(64, 64)), torch::nn::ReLU(),
                            torch::nn::Linear(64, 2));  // whole all the time
  shard.attach(*net);                                   // the same weights on every rank from here on
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  if (lamb) {
    optimizer = std::make_unique<lockstep::Lamb>(net->parameters(), lockstep::LambOptions(3e-2));
  } else {
    optimizer = std::make_unique<torch::optim::AdamW>(net->parameters(), 1e-2);
  }
  auto loader = lockstep::make_loader(Circle(), world, {.global_batch = 64, .seed = 7});
  for (int epoch = 1; epoch <= 5; ++epoch) {
    torch::Tensor loss;
    for (auto& batch : loader->epoch()) {
      optimizer->zero_grad();
      loss = torch::nn::functional::cross_entropy(net->forward(batch.data), batch.target);
      loss.backward();            // this rank keeps its piece of the mean gradient
      shard.clip_grad_norm(1.0);  // by the norm of all pieces
      shard.step(*optimizer);     // updates this rank's piece and gathers the others'
    }
    int gathers = 0;  // in the last iteration
    std::uint64_t bytes = 0;
    for (const auto& operation : shard.report().buckets) {
      if (operation.operation != "all_gather") continue;
      ++gathers;
      bytes += operation.wire_bytes;
    }
    if (world.rank() != 0) continue;
    std::printf("epoch %d loss %.4f, gathers %d of %.1f KiB together\n", epoch, loss.item<double>(), gathers,
                static_cast<double>(bytes) / 1024);
  }
} catch (const std::exception& error) {
  return failed(error);
}
