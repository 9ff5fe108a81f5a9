// A rank that trains the tests' network sharded, at the stage that is its argument ("123": at one after the other),
// does the same without its peers, and prints how much the two differ. With "host" it shards within hosts, and says
// whether that is what sharding over the world gives; "apart" is the same with a mistake, hosts that hear nothing of
// each other. With "checkpoint FOLDER" it saves such a training and goes on with it over the world.
#include <lockstep/checkpoint.h>

#include <cstdlib>
#include <string>

#include "tests/train/print_difference.h"
#include "train/sharded/sharding_training.h"

namespace {

using namespace lockstep;

void compare(World& world, int stage, Sharding sharding, bool apart) {
  const auto seed = static_cast<std::uint64_t>(apart ? 1 : 1 + world.rank());
  test::ShardedTraining what{.optimizer = "AdamW", .sharding = sharding, .max_norm = 0.3};
  if (apart) what.apart = world.split(world.hosts()[static_cast<std::size_t>(world.rank())]);
  const auto change = test::train_sharded(world, stage, seed, what);
  const auto expected = test::train_sharded(*test::make_net(1), World::alone(), nullptr, what);
  test::print_difference(world, change, expected);
  if (sharding == Sharding::kWorld) return;
  what.sharding = Sharding::kWorld;
  fmt::print("over the world {}\n",
             torch::equal(test::train_sharded(world, stage, seed, what), change) ? "the same" : "other");
}

/// A network in training.
struct Trained {
  Trained(World& world, std::uint64_t seed, int stage, Sharding sharding)
      : net(test::make_net(seed)),
        shard(world, *net, {.stage = stage, .sharding = sharding, .first_bucket_bytes = 1024, .bucket_bytes = 4096}),
        optimizer(net->parameters(), 1e-2) {
    state.module("model", *net).optimizer("optimizer", optimizer, shard);
  }
  void train(int iterations) {
    for (int i = 0; i < iterations; ++i) {
      optimizer.zero_grad();
      net->forward(torch::ones({2, 1, 6, 6})).square().sum().backward();
      shard.step(optimizer);
    }
  }
  std::shared_ptr<test::SmallNet> net;
  Sharded shard;
  torch::optim::AdamW optimizer;
  TrainingState state;
};

void resume(World& world, int stage, const std::string& folder) {
  Trained first(world, 1, stage, Sharding::kHost);
  Trained second(world, 2, stage, Sharding::kWorld);
  Checkpoints checkpoints(world, folder);
  double share = 0, all = 0;
  for (const ParameterPiece& piece : first.shard.pieces()) {
    share += static_cast<double>(piece.end - piece.begin);
    all += static_cast<double>(piece.parameter.numel());
  }
  std::vector<double> shares{share / all};
  world.all_reduce(buffer_of(shares), ReduceOp::kMean).wait();
  fmt::print("share {}\n", shares[0]);
  first.train(3);
  {
    const auto whole = first.shard.gather();
    checkpoints.save(3, first.state);
  }
  {
    const auto whole = second.shard.gather();
    checkpoints.load(second.state);
  }
  first.train(3);
  second.train(3);
  test::print_difference(world, test::flat_parameters(*second.net), test::flat_parameters(*first.net));

  // The same without any rank having the whole for it.
  TrainingState from_pieces, into_pieces;
  from_pieces.module("model", *first.net, first.shard);
  into_pieces.module("model", *second.net, second.shard);
  checkpoints.save(6, from_pieces);
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : second.net->parameters()) parameter.zero_();
  }
  checkpoints.load(into_pieces, 6);
  test::print_difference(world, test::flat_parameters(*second.net), test::flat_parameters(*first.net));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  at::set_num_threads(1);
  auto world = World::from_env();
  const std::string what = argc > 2 ? argv[2] : "world";
  if (what == "checkpoint") {
    resume(world, std::atoi(argv[1]), argv[3]);
  } else {
    for (const char stage : std::string(argv[1])) {
      compare(world, stage - '0', what == "host" ? Sharding::kHost : Sharding::kWorld, what == "apart");
    }
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
