// Sums one value a rank: alone, or as the launcher says; then on three threads.
#include <lockstep/comm.h>

#include <atomic>
#include <cstdio>
#include <vector>

static_assert(__cplusplus == 201703L, "the public headers are to be tried as C++17");

namespace {

bool sums_ranks(const lockstep::World& world) {
  std::vector<float> values(1000, static_cast<float>(world.rank() + 1));
  world.all_reduce(lockstep::buffer_of(values)).wait();
  const int n = world.size();
  return values == std::vector<float>(1000, static_cast<float>(n * (n + 1)) / 2);
}

}  // namespace

int main() {
  if (!sums_ranks(lockstep::World::from_env())) return 1;
  std::atomic<int> right{0};
  lockstep::run_threads(3, [&](lockstep::World& world) { right += sums_ranks(world) ? 1 : 0; });
  std::printf("%d of 3 threads have the sum\n", right.load());
  return right == 3 ? 0 : 1;
}
