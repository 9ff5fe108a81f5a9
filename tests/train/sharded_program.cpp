// A rank that trains the tests' network sharded, at the stage that is its argument, does the same without its peers,
// and prints how much the two differ.
#include <cstdlib>

#include "tests/train/print_difference.h"
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
  test::print_difference(world, change, expected);
}
