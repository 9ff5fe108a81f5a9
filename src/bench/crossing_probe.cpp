#include "bench/crossing_probe.h"

#include "base/clock.h"

#include <sched.h>

#include <algorithm>
#include <limits>

namespace lockstep::bench {

double CrossingProbe::measure(bool is_first) {
  constexpr int kTries = 16;
  constexpr std::uint32_t kTimes = 64;
  double least = std::numeric_limits<double>::infinity();
  std::uint32_t value = line_.load(std::memory_order_acquire) & ~std::uint32_t{1};  // the first may have begun
  for (int round = 0; round < kTries; ++round) {
    const auto start = Clock::now();
    for (std::uint32_t time = 0; time < kTimes; ++time, value += 2) {
      if (is_first) line_.store(value + 1, std::memory_order_release);
      await(is_first ? value + 2 : value + 1);
      if (!is_first) line_.store(value + 2, std::memory_order_release);
    }
    least = std::min(least, milliseconds_since(start) / 1000 / kTimes);
  }
  return is_first ? least : 0;
}

/// Threads that share a core after all would wait for each other's time to be over.
void CrossingProbe::await(std::uint32_t value) const {
  constexpr int kLooks = 1 << 10;  // longer than a line takes
  for (int looks = 1; line_.load(std::memory_order_acquire) != value; ++looks) {
    if (looks % kLooks == 0) ::sched_yield();
  }
}

}  // namespace lockstep::bench
