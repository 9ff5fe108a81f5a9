// How fast the kernels of local memory are: the cost of a small call, the traffic of 2 to 8 operands warm and cold, and
// where streaming begins to win when two ranks reduce each other's buffers at once, what becomes of a copy whose
// target begins just behind its source within a page, and what it costs that lines cross from core to core.
// `build/release/bin/kernels_speed [calls|traffic|pair|copies|crossing]...`, alone on the machine. Rates are what the
// kernel reads and writes, not what the caches make of it.
#include "kernels/copy.h"
#include "kernels/reduce.h"
#include "kernels/stream.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace lockstep;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKi = 1024;
constexpr std::size_t kMi = kKi * kKi;

/// Page-aligned, touched.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : data_(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)) {
    if (data_ == nullptr) throw std::bad_alloc();
    std::memset(data_, 0, bytes);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }
  void* at(std::size_t byte) const { return static_cast<char*>(data_) + byte; }

 private:
  void* data_;
};

void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The median of some times of one call, each over as many calls as take about 2 ms.
double seconds_of(const std::function<void()>& call) {
  call();
  auto start = Clock::now();
  call();
  const int calls = static_cast<int>(std::clamp(0.002 / seconds_since(start), 1.0, 1e6));
  std::vector<double> times;
  for (int round = 0; round < 11; ++round) {
    start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    times.push_back(seconds_since(start) / calls);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

kernels::ReduceArguments sum_of(const std::vector<void*>& targets, const std::vector<const void*>& operands,
                                std::size_t elements, DataType dtype = DataType::kFloat32) {
  return {.targets = targets.data(),
          .target_count = targets.size(),
          .operands = operands.data(),
          .operand_count = operands.size(),
          .count = elements,
          .dtype = dtype,
          .op = ReduceOp::kSum};
}

void print_calls() {
  const Buffer memory(64 * kKi);
  fmt::print("One call of float32 in the first cache, in ns: elements, operands, targets\n");
  for (const std::size_t elements : {1U, 4U, 16U, 17U, 64U, 256U}) {
    for (const std::size_t operands : {2U, 4U, 8U}) {
      std::vector<const void*> from;
      for (std::size_t s = 0; s < operands; ++s) from.push_back(memory.at(s * 4 * kKi));
      const std::vector<void*> to = {memory.at(0), memory.at(4 * kKi)};
      const auto arguments = sum_of(to, from, elements);
      fmt::print("  {:4} {} {}: {:.1f}\n", elements, operands, to.size(),
                 1e9 * seconds_of([&] { kernels::reduce(arguments); }));
    }
  }
}

struct Place {
  std::string_view name;
  std::size_t bytes;  ///< of all arrays together
};
constexpr Place kPlaces[] = {{"warm, 512 KiB together", 512 * kKi}, {"cold, 512 MiB together", 512 * kMi}};

void print_copies(std::size_t bytes, const Buffer& memory) {
  const std::size_t each = bytes / 2;
  const auto rate = [&](const std::function<void()>& call) {
    return 2e-9 * static_cast<double>(each) / seconds_of(call);
  };
  fmt::print("  memcpy {:.1f}, streamed copy {:.1f}, copy by reduce {:.1f} GB/s\n",
             rate([&] { std::memcpy(memory.at(each), memory.at(0), each); }),
             rate([&] { kernels::stream_pass(memory.at(each), memory.at(0), each); }), rate([&] {
               const std::vector<void*> to = {memory.at(each)};
               const std::vector<const void*> from = {memory.at(0)};
               kernels::reduce(sum_of(to, from, each / 4));
             }));
}

void print_traffic() {
  for (const Place& place : kPlaces) {
    const Buffer memory(place.bytes + 64 * kKi);
    fmt::print("{}: GB/s\n", place.name);
    print_copies(place.bytes, memory);
    for (const DataType dtype : {DataType::kFloat32, DataType::kBFloat16, DataType::kFloat16}) {
      for (std::size_t operands = 2; operands <= 9; ++operands) {
        // One target more than there are operands, and not on the same lines of a cache's set.
        const std::size_t each = place.bytes / (operands + 1) / 4096 * 4096;
        std::vector<const void*> from;
        for (std::size_t s = 0; s < operands; ++s) from.push_back(memory.at(s * (each + 256)));
        const std::vector<void*> to = {memory.at(operands * (each + 256))};
        auto arguments = sum_of(to, from, each / size_of(dtype), dtype);
        double rates[2];
        for (const bool streaming : {false, true}) {
          arguments.streamed_targets = streaming ? arguments.target_count : 0;
          rates[streaming] =
              1e-9 * static_cast<double>(each * (operands + 1)) / seconds_of([&] { kernels::reduce(arguments); });
        }
        fmt::print("  {:8} {} operands: stored {:.1f}, streamed {:.1f}\n", to_string(dtype), operands, rates[0],
                   rates[1]);
      }
    }
  }
}

/// `work(rank)` on a pinned thread for each of two ranks, again and again in step: the median time of a round.
double seconds_of_pair(int rounds, const std::function<void(int)>& work) {
  std::barrier barrier(2);
  std::vector<double> times;
  const auto run = [&](int rank) {
    pin(rank);
    for (int round = 0; round < rounds + 2; ++round) {
      barrier.arrive_and_wait();
      const auto start = Clock::now();
      work(rank);
      barrier.arrive_and_wait();
      if (rank == 0 && round >= 2) times.push_back(seconds_since(start));
    }
  };
  std::thread other(run, 1);
  std::thread one(run, 0);
  one.join();
  other.join();
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// What two ranks do with their halves of two buffers, as a step of a collective over mapped memory does.
struct Shape {
  std::string_view name;
  bool in_place;  ///< the sum is written to both buffers (`direct`); otherwise to one that was not read
  bool used;      ///< each rank then reads and writes what it ended with, as an optimizer would
};
constexpr Shape kShapes[] = {
    {"into both buffers, again and again", true, false},
    {"into both buffers, then each works through its own", true, true},
    {"into a third, again and again", false, false},
    {"into a third, then each works through its part", false, true},
};

double seconds_of_shape(const Shape& shape, std::size_t bytes, bool streaming) {
  const Buffer buffers[] = {Buffer(bytes), Buffer(bytes), Buffer(bytes)};
  const std::size_t half = bytes / 2;
  const int rounds = static_cast<int>(std::clamp<std::size_t>(512 * kMi / bytes, 9, 2001));
  return seconds_of_pair(rounds, [&](int rank) {
    const std::size_t begin = static_cast<std::size_t>(rank) * half;
    const std::vector<const void*> from = {buffers[0].at(begin), buffers[1].at(begin)};
    std::vector<void*> to = {buffers[0].at(begin), buffers[1].at(begin)};
    if (!shape.in_place) to = {buffers[2].at(begin)};
    auto arguments = sum_of(to, from, half / 4);
    arguments.streamed_targets = streaming ? arguments.target_count : 0;
    kernels::reduce(arguments);
    if (!shape.used) return;
    const std::vector<void*> own = {shape.in_place ? buffers[rank].at(0) : to[0]};
    const std::vector<const void*> twice(2, own[0]);
    kernels::reduce(sum_of(own, twice, (shape.in_place ? bytes : half) / 4));
  });
}

void print_pair() {
  fmt::print("Two ranks at once, each sums its half of two buffers, us\n");
  for (const Shape& shape : kShapes) {
    fmt::print(" {}\n", shape.name);
    for (std::size_t bytes = 64 * kKi; bytes <= 128 * kMi; bytes *= 4) {
      fmt::print("  {:7} KiB: stored {:.1f}, streamed {:.1f}\n", bytes / kKi,
                 1e6 * seconds_of_shape(shape, bytes, false), 1e6 * seconds_of_shape(shape, bytes, true));
    }
  }
  const std::size_t bytes = 128 * kMi;
  const Buffer memory[] = {Buffer(2 * bytes), Buffer(2 * bytes)};
  const double limit =
      seconds_of_pair(9, [&](int rank) { kernels::stream_pass(memory[rank].at(bytes), memory[rank].at(0), bytes); });
  fmt::print("limit: {:.1f} GB/s of two streaming threads\n", 4e-9 * static_cast<double>(bytes) / limit);
}

void print_distances() {
  const Buffer memory(512 * kKi);
  fmt::print("Copies in a core's caches, by how far the target begins behind the source within a page: GB/s\n");
  for (const std::size_t bytes : {kKi, 4 * kKi, 64 * kKi}) {
    for (const std::size_t behind : {0U, 1U, 8U, 15U, 16U, 64U, 2048U}) {
      void* const to = memory.at(256 * kKi + behind);
      const auto rate = [&](const std::function<void()>& call) {
        return 1e-9 * static_cast<double>(bytes) / seconds_of(call);
      };
      fmt::print("  {:2} KiB, {:4} B behind: memcpy {:.1f}, copy {:.1f}\n", bytes / kKi, behind,
                 rate([&] { std::memcpy(to, memory.at(0), bytes); }),
                 rate([&] { kernels::copy(to, memory.at(0), bytes, false); }));
    }
  }
}

enum class Turn { kRead, kWrite, kWritePastCaches, kReadAndWrite, kSum, kSumAndAskEarly };

struct Crossing {
  std::string_view name;
  Turn of_core[2];
};
constexpr Crossing kCrossings[] = {
    {"one writes, the other reads", {Turn::kWrite, Turn::kRead}},
    {"each reads and then writes there", {Turn::kReadAndWrite, Turn::kReadAndWrite}},
    {"one writes past the caches, the other reads", {Turn::kWritePastCaches, Turn::kRead}},
    {"one adds to what is there, the other reads", {Turn::kSum, Turn::kRead}},
    {"one adds and asks for it early, the other reads", {Turn::kSumAndAskEarly, Turn::kRead}},
};

void add(const Buffer& shared, const Buffer& own, std::size_t bytes, bool asks_early) {
  void* const target = shared.at(0);
  const void* const operands[] = {shared.at(0), own.at(0)};
  kernels::reduce({.targets = &target,
                   .target_count = 1,
                   .operands = operands,
                   .operand_count = 2,
                   .count = bytes / sizeof(float),
                   .dtype = DataType::kFloat32,
                   .op = ReduceOp::kSum,
                   .asks_early = asks_early});
}

void take(Turn turn, const Buffer& shared, const Buffer& own, std::size_t bytes) {
  const bool asks_early = turn == Turn::kSumAndAskEarly;
  if (turn == Turn::kSum || asks_early) return add(shared, own, bytes, asks_early);
  if (turn == Turn::kRead || turn == Turn::kReadAndWrite) kernels::copy(own.at(0), shared.at(0), bytes, false);
  if (turn != Turn::kRead) kernels::copy(shared.at(0), own.at(0), bytes, turn == Turn::kWritePastCaches);
}

/// Virtual cores that move from cache to cache answer differently from minute to minute.
void print_crossings() {
  constexpr std::size_t kBytes = 256 * kKi;
  constexpr int kRounds = 200;
  fmt::print("Two cores that work in turn on {} KiB, core 0 + core 1: us\n", kBytes / kKi);
  for (const Crossing& crossing : kCrossings) {
    const Buffer shared(kBytes);
    std::vector<double> times[2];
    std::atomic<int> turns{0};
    const auto run = [&](int core) {
      pin(core);
      const Buffer own(kBytes);
      for (int turn = core; turn < 2 * kRounds; turn += 2) {
        while (turns.load(std::memory_order_acquire) != turn) continue;
        const auto start = Clock::now();
        take(crossing.of_core[core], shared, own, kBytes);
        times[core].push_back(1e6 * seconds_since(start));
        turns.store(turn + 1, std::memory_order_release);
      }
    };
    {
      const std::jthread other(run, 1);
      run(0);
    }
    for (std::vector<double>& of_core : times) std::sort(of_core.begin(), of_core.end());
    fmt::print("  {:<45} {:6.1f} + {:.1f}\n", crossing.name, times[0][kRounds / 2], times[1][kRounds / 2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> parts(argv + 1, argv + argc);
  if (parts.empty()) parts = {"calls", "traffic", "pair", "copies", "crossing"};
  for (const std::string_view part : parts) {
    pin(0);
    if (part == "calls")
      print_calls();
    else if (part == "traffic")
      print_traffic();
    else if (part == "pair")
      print_pair();
    else if (part == "copies")
      print_distances();
    else if (part == "crossing")
      print_crossings();
    else {
      fmt::print(stderr, "There is no part '{}'; the parts are calls, traffic, pair, copies and crossing.\n", part);
      return 2;
    }
  }
}
