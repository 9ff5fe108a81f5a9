// What it costs that lines cross from core to core: two cores work on the same 256 KiB in turn. One writes and the
// other reads; each reads, and then writes where it has read; one writes past the caches and the other reads.
// `build/release/bin/crossing_speed [ROUNDS]`, alone on the machine. It prints medians over the rounds, of core 0 and
// of core 1; a machine whose virtual cores move from cache to cache answers differently from minute to minute.
#include "kernels/copy.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = std::size_t{256} << 10;

struct alignas(4096) Page {
  unsigned char bytes[4096];
};
using Memory = std::vector<Page>;

enum class Turn { kRead, kWrite, kWritePastCaches, kReadAndWrite };

struct Pattern {
  std::string_view name;
  Turn of_core[2];
};
constexpr Pattern kPatterns[] = {
    {"one writes, the other reads", {Turn::kWrite, Turn::kRead}},
    {"each reads and then writes there", {Turn::kReadAndWrite, Turn::kReadAndWrite}},
    {"one writes past the caches, the other reads", {Turn::kWritePastCaches, Turn::kRead}},
};

void take(Turn turn, Memory& shared, Memory& own) {
  const bool reads = turn == Turn::kRead || turn == Turn::kReadAndWrite;
  if (reads) kernels::copy(own.data(), shared.data(), kBytes, false);
  if (turn != Turn::kRead) kernels::copy(shared.data(), own.data(), kBytes, turn == Turn::kWritePastCaches);
}

void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void print(const Pattern& pattern, int rounds) {
  Memory shared(kBytes / sizeof(Page));
  std::vector<double> times[2];
  std::atomic<int> turns{0};
  const auto run = [&](int core) {
    pin(core);
    Memory own(kBytes / sizeof(Page));
    for (int round = 0; round < rounds; ++round) {
      while (turns.load(std::memory_order_acquire) != 2 * round + core) continue;
      const auto start = Clock::now();
      take(pattern.of_core[core], shared, own);
      times[core].push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
      turns.store(2 * round + core + 1, std::memory_order_release);
    }
  };
  {
    const std::jthread other(run, 1);
    const std::jthread one(run, 0);
  }
  fmt::print("  {:<45} {:6.1f} + {:.1f} us\n", pattern.name, median(times[0]), median(times[1]));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  if (argc > 2 || rounds < 1) {
    fmt::print(stderr, "crossing_speed takes a number of rounds, 1 or more, or nothing.\n");
    return 2;
  }
  fmt::print("256 KiB, core 0 + core 1:\n");
  for (const Pattern& pattern : kPatterns) print(pattern, rounds);
}
