#include "bench/samples.h"

#include "algorithms/catalog.h"
#include "base/clock.h"
#include "bench/collectives.h"
#include "bench/memory.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "bench/workload.h"
#include "group/thread_world.h"
#include "planner/price.h"
#include "topology/cpus.h"

#include <lockstep/world.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

namespace lockstep::bench {

namespace {

double seconds_since(Clock::time_point start) { return milliseconds_since(start) / 1000; }

Shape shape_of(const Point& point, const World& world) {
  const auto unit = static_cast<std::size_t>(facts_of(point.collective).in_blocks ? world.size() : 1);
  return {.collective = point.collective,
          .rank = world.rank(),
          .ranks = world.size(),
          .count = std::max<std::size_t>(point.bytes / sizeof(float) / unit, 1) * unit};
}

/// Where the operations of a point work, as in `lockstep bench`: in turn on some buffers if what comes out cannot go in
/// again.
struct Slots {
  unsigned char* memory = nullptr;
  Shape shape;
  Layout layout;

  Buffer of(int operation) const {
    const std::size_t slot = static_cast<std::size_t>(operation) % layout.slots;
    return {memory + slot * layout.stride, shape.count, shape.dtype};
  }
  /// As a program does with what is to be reduced or scattered: nobody else has it in a cache then.
  void write() const {
    if (layout.uses == 1) std::memset(memory, 0, layout.bytes());
  }
};

/// Zeros for the largest of the points, of each kind of memory that they have.
class Buffers {
 public:
  Buffers(const World& world, const std::vector<Point>& points)
      : world_(world),
        registered_(world.allocate(bytes_for(MemoryKind::kRegistered, points))),
        plain_(allocate_plain(bytes_for(MemoryKind::kPlain, points))) {
    std::memset(registered_.data(), 0, registered_.bytes());
    std::memset(plain_.get(), 0, bytes_for(MemoryKind::kPlain, points));
  }
  Slots of(const Point& point) const {
    void* const memory = point.memory == MemoryKind::kPlain ? plain_.get() : registered_.data();
    return {static_cast<unsigned char*>(memory), shape_of(point, world_), layout_of(point)};
  }

 private:
  Layout layout_of(const Point& point) const { return make_layout(Pattern(shape_of(point, world_)), false, 0); }
  std::size_t bytes_for(MemoryKind memory, const std::vector<Point>& points) const {
    std::size_t most = sizeof(float);
    for (const Point& point : points) {
      if (point.memory == memory) most = std::max(most, layout_of(point).bytes());
    }
    return most;
  }

  const World& world_;
  RegisteredMemory registered_;
  PlainMemory plain_;
};

/// The seconds that so many operations take after one another.
double run_batch(const World& world, const Slots& slots, const Point& point, int operations) {
  const OperationOptions options{.algorithm = point.algorithm, .purpose = {}};
  const auto operation = facts_of(point.collective).start;
  const auto start = Clock::now();
  for (int i = 0; i < operations; ++i) operation(world, slots.of(i), ReduceOp::kSum, options).wait();
  return seconds_since(start);
}

struct IterationSize {
  int iterations = 0;
  int batch = 1;
};

/// As many as fit into the time, the same on all ranks.
IterationSize agreed_size(const World& world, const Slots& slots, const Point& point, double seconds) {
  constexpr int kProbes = 4;
  constexpr double kFewest = 3;
  constexpr double kMost = 1000;
  (void)run_batch(world, slots, point, 1);
  double once_s = run_batch(world, slots, point, 1);
  world.all_reduce(buffer_of(&once_s, 1), ReduceOp::kMax).wait();
  if (once_s < seconds) {
    once_s = std::max(run_batch(world, slots, point, kProbes) / kProbes, 1e-7);
    world.all_reduce(buffer_of(&once_s, 1), ReduceOp::kMax).wait();
  }
  const auto batch = static_cast<int>(choose_batch(once_s, slots.layout));
  return {static_cast<int>(std::clamp(seconds / (once_s * batch), kFewest, kMost)), batch};
}

double median_of_slowest(const World& world, const Slots& slots, const Point& point, const IterationSize& size) {
  std::vector<double> seconds;
  // As in `lockstep bench` (bench/rounds.cpp): ranks that share cores have to fall into step first.
  const int uncounted = size.batch > 1 ? 1 : 0;
  for (int iteration = 0; iteration < size.iterations + uncounted; ++iteration) {
    slots.write();
    world.barrier().wait();
    const double mine = run_batch(world, slots, point, size.batch) / size.batch;
    world.barrier().wait();
    if (iteration >= uncounted) seconds.push_back(mine);
  }
  world.all_reduce(buffer_of(seconds), ReduceOp::kMax).wait();
  return median(seconds);
}

/// Whether the rounds with even numbers and those with odd ones tell the same time of a point.
bool agree(const std::vector<double>& seconds) {
  constexpr double kSame = 1.05;
  std::array<std::vector<double>, 2> halves;
  for (std::size_t round = 0; round < seconds.size(); ++round) halves[round % 2].push_back(seconds[round]);
  if (halves[1].empty()) return false;
  const double even = median(halves[0]);
  const double odd = median(halves[1]);
  return std::max(even, odd) <= kSame * std::min(even, odd);
}

/// What one rank of the job does; of each point the seconds by round, which are the same on all ranks.
std::vector<std::vector<double>> measure_on(World& world, const Sampling& sampling, const std::vector<Point>& points) {
  bind_thread(world.rank(), world.size());
  const Buffers buffers(world, points);
  std::vector<IterationSize> sizes(points.size());
  std::vector<std::vector<double>> seconds(points.size());
  for (int round = 0; round < sampling.rounds + sampling.more_rounds; ++round) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (round >= sampling.rounds && agree(seconds[i])) continue;
      const Slots slots = buffers.of(points[i]);
      if (round == 0) sizes[i] = agreed_size(world, slots, points[i], sampling.seconds_a_round);
      seconds[i].push_back(median_of_slowest(world, slots, points[i], sizes[i]));
    }
  }
  return seconds;
}

}  // namespace

void bind_thread(int rank, int ranks) {
  const CpuSet cpus = deal_cpus(ranks)[static_cast<std::size_t>(rank)];
  if (cpus.empty()) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int cpu : cpus) CPU_SET(static_cast<unsigned>(cpu), &mask);
  ::sched_setaffinity(0, sizeof mask, &mask);
}

std::vector<Point> points_at(const std::vector<Collective>& collectives, const std::vector<std::size_t>& sizes,
                             int ranks, MemoryKind memory) {
  constexpr double kMostTransfers = 1e4;
  std::vector<Point> points;
  for (const Collective collective : collectives) {
    for (const std::string_view name : algorithms_for(collective)) {
      if (estimated_transfers(name, collective, ranks) > kMostTransfers) continue;
      for (const std::size_t bytes : sizes) points.push_back({collective, std::string(name), bytes, memory});
    }
  }
  return points;
}

std::vector<Sample> take_samples(const Sampling& sampling, const std::vector<Point>& points) {
  std::vector<std::vector<double>> seconds;
  const auto measure = [&](World& world) {
    auto measured = measure_on(world, sampling, points);
    if (world.rank() == 0) seconds = std::move(measured);
  };
  sampling.medium == Medium::kTcp ? detail::run_threads_over_tcp(sampling.ranks, measure)
                                  : run_threads(sampling.ranks, measure);
  std::vector<Sample> samples;
  std::map<std::pair<Collective, std::string>, std::shared_ptr<const HostJob>> jobs;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto& [collective, algorithm, size, memory] = points[i];
    auto& job = jobs[{collective, algorithm}];
    if (!job) {
      job = std::make_shared<HostJob>(
          find_algorithm(algorithm).build({.collective = collective, .ranks = sampling.ranks}));
    }
    samples.push_back({.collective = collective,
                       .algorithm = algorithm,
                       .ranks = sampling.ranks,
                       .bytes = static_cast<double>(size),
                       .memory = memory,
                       .seconds = median(seconds[i]),
                       .job = job});
  }
  return samples;
}

}  // namespace lockstep::bench
