// A rank that trains the tests' network sharded, at the stage that is its argument, does the same without its peers,
// and prints how much the two differ.
#include <fmt/format.h>

#include <cstdlib>

#include "train/sharded/sharding_training.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  if (argc != 2) return 2;
  at::set_num_threads(1);
  auto world = World::from_env();
  const test::ShardedTraining what{.optimizer = "AdamW", .max_norm = 0.3};
  const auto change =
      test::train_sharded(world, std::atoi(argv[1]), static_cast<std::uint64_t>(1 + world.rank()), what);
  const auto expected = test::train_sharded(*test::make_net(1), World::alone(), nullptr, what);
  fmt::print("difference {:e}\n", ((change - expected).norm() / expected.norm()).item<double>());

  std::vector<float> largest(change.data_ptr<float>(), change.data_ptr<float>() + change.numel());
  auto smallest = largest;
  world.all_reduce(buffer_of(largest), ReduceOp::kMax).wait();
  world.all_reduce(buffer_of(smallest), ReduceOp::kMin).wait();
  fmt::print("bits {}\n", largest == smallest ? "equal" : "differ");
}
