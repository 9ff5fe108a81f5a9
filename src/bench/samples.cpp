#include "bench/samples.h"

#include "algorithms/catalog.h"
#include "base/clock.h"
#include "bench/rounds.h"
#include "group/thread_world.h"
#include "planner/price.h"
#include "topology/cpus.h"

#include <lockstep/world.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

namespace lockstep::bench {

namespace {

double seconds_since(Clock::time_point start) { return milliseconds_since(start) / 1000; }

double lower_quartile(std::vector<double> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// The seconds that so many operations take after one another.
double run_batch(const World& world, const RegisteredMemory& memory, const Point& point, int operations) {
  const auto ranks = static_cast<std::size_t>(world.size());
  std::size_t count = point.bytes / sizeof(float);
  if (point.collective == Collective::kAllGather) count = std::max(ranks, count / ranks * ranks);
  const Buffer buffer = buffer_of(static_cast<float*>(memory.data()), count);
  const OperationOptions options{.algorithm = point.algorithm, .purpose = {}};
  const auto start = Clock::now();
  for (int i = 0; i < operations; ++i) {
    Pending pending = point.collective == Collective::kAllGather ? world.all_gather(buffer, options)
                                                                 : world.all_reduce(buffer, ReduceOp::kSum, options);
    pending.wait();
  }
  return seconds_since(start);
}

struct IterationSize {
  int iterations = 0;
  int batch = 1;
};

/// As many as fit into the time, the same on all ranks.
IterationSize agreed_size(const World& world, const RegisteredMemory& memory, const Point& point, double seconds) {
  constexpr int kProbes = 4;
  constexpr double kFewest = 3;
  constexpr double kMost = 1000;
  (void)run_batch(world, memory, point, 1);
  double once_s = run_batch(world, memory, point, 1);
  world.all_reduce(buffer_of(&once_s, 1), ReduceOp::kMax).wait();
  if (once_s < seconds) {
    once_s = std::max(run_batch(world, memory, point, kProbes) / kProbes, 1e-7);
    world.all_reduce(buffer_of(&once_s, 1), ReduceOp::kMax).wait();
  }
  const auto batch = static_cast<int>(choose_batch(once_s));
  return {static_cast<int>(std::clamp(seconds / (once_s * batch), kFewest, kMost)), batch};
}

double quartile_of_slowest(const World& world, const RegisteredMemory& memory, const Point& point,
                           const IterationSize& size) {
  std::vector<double> seconds(static_cast<std::size_t>(size.iterations));
  for (double& mine : seconds) {
    world.barrier().wait();
    // Ranks that share cores have to fall into step first.
    if (size.batch > 1) (void)run_batch(world, memory, point, 1);
    mine = run_batch(world, memory, point, size.batch) / size.batch;
  }
  world.all_reduce(buffer_of(seconds), ReduceOp::kMax).wait();
  return lower_quartile(seconds);
}

/// What one rank of the job does; of each point the seconds by round.
std::vector<std::vector<double>> measure_on(World& world, const Sampling& sampling, const std::vector<Point>& points) {
  bind_thread(world.rank(), world.size());
  std::size_t most = 1;
  for (const Point& point : points) most = std::max(most, point.bytes);
  const RegisteredMemory memory =
      world.allocate(std::max(most, sizeof(float) * static_cast<std::size_t>(world.size())));
  std::memset(memory.data(), 0, memory.bytes());
  std::vector<IterationSize> sizes(points.size());
  std::vector<std::vector<double>> seconds(points.size());
  for (int round = 0; round < sampling.rounds; ++round) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (round == 0) sizes[i] = agreed_size(world, memory, points[i], sampling.seconds_a_round);
      seconds[i].push_back(quartile_of_slowest(world, memory, points[i], sizes[i]));
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

std::vector<Point> points_at(const std::vector<std::size_t>& sizes, int ranks) {
  constexpr double kMostTransfers = 1e4;
  std::vector<Point> points;
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather}) {
    for (const std::string_view name : algorithms_for(collective)) {
      if (estimated_transfers(name, collective, ranks) > kMostTransfers) continue;
      for (const std::size_t bytes : sizes) points.push_back({collective, std::string(name), bytes});
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
    const auto& [collective, algorithm, size] = points[i];
    auto& job = jobs[{collective, algorithm}];
    if (!job) {
      job = std::make_shared<HostJob>(
          find_algorithm(algorithm).build({.collective = collective, .ranks = sampling.ranks}));
    }
    samples.push_back({.collective = collective,
                       .algorithm = algorithm,
                       .ranks = sampling.ranks,
                       .bytes = static_cast<double>(size),
                       .seconds = lower_quartile(seconds[i]),
                       .job = job});
  }
  return samples;
}

}  // namespace lockstep::bench
