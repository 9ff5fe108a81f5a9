// A rank that trains the tests' network for 20 iterations, does the same without its peers, and prints how much the two
// differ.
#include "tests/train/print_difference.h"
#include "train/test_model.h"

int main() {
  using namespace lockstep;
  at::set_num_threads(1);
  auto world = World::from_env();
  const auto net = test::make_net(static_cast<std::uint64_t>(1 + world.rank()));
  const DataParallel replica(world, *net);
  const auto change = test::train_small_net(*net, world);
  const auto expected = test::train_small_net(*test::make_net(1), World::alone());
  test::print_difference(world, change, expected);
}
