#include "bench/samples.h"

#include "algorithms/catalog.h"
#include "bench/collectives.h"
#include "bench/crossing_probe.h"
#include "bench/group_subject.h"
#include "bench/memory.h"
#include "bench/readings.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "bench/workload.h"
#include "group/thread_world.h"
#include "planner/one_host/timed_batch.h"
#include "planner/pricing/price.h"
#include "topology/cpus.h"

#include <lockstep/world.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

namespace lockstep::bench {

namespace {

Shape shape_of(const Point& point, const World& world) {
  const DataType dtype = DataType::kFloat32;
  return {.collective = point.collective,
          .dtype = dtype,
          .rank = world.rank(),
          .ranks = world.size(),
          .count = whole_bytes(point.collective, point.bytes, dtype, world.size()) / size_of(dtype)};
}

Layout layout_of(const Pattern& pattern) { return make_layout(pattern, false, 0); }

/// Room for the largest of the points, of each kind of memory that they have.
class Room {
 public:
  Room(const World& world, const std::vector<Point>& points)
      : registered_(world.allocate(bytes_for(MemoryKind::kRegistered, world, points))),
        plain_(allocate_plain(bytes_for(MemoryKind::kPlain, world, points))) {
    std::memset(registered_.data(), 0, registered_.bytes());
    std::memset(plain_.get(), 0, bytes_for(MemoryKind::kPlain, world, points));
  }
  void* of(MemoryKind memory) const { return memory == MemoryKind::kPlain ? plain_.get() : registered_.data(); }

 private:
  static std::size_t bytes_for(MemoryKind memory, const World& world, const std::vector<Point>& points) {
    std::size_t most = sizeof(float);
    for (const Point& point : points) {
      if (point.memory == memory) most = std::max(most, layout_of(Pattern(shape_of(point, world))).bytes());
    }
    return most;
  }

  RegisteredMemory registered_;
  PlainMemory plain_;
};

/// The median of the iterations, of each the slowest rank's seconds for an operation.
double median_of_slowest(const World& world, GroupSubject& subject, FilledOperands& operands, const Round& round) {
  std::vector<double> seconds;
  run_round(subject, operands, round, seconds);
  world.all_reduce(buffer_of(seconds), ReduceOp::kMax).wait();
  return median(seconds);
}

/// As many iterations and operations as fit into the time, the same on all ranks.
Round agreed_round(const World& world, GroupSubject& subject, FilledOperands& operands, double seconds) {
  constexpr std::size_t kProbes = 4;
  constexpr double kFewest = 3;
  constexpr double kMost = 1000;
  double once_s = median_of_slowest(world, subject, operands, {});
  if (once_s < seconds) once_s = std::max(median_of_slowest(world, subject, operands, {.batch = kProbes}), 1e-7);
  const std::size_t batch = choose_batch(once_s, operands.layout());
  const double wanted = seconds / (once_s * static_cast<double>(batch));
  return {.iterations = static_cast<std::size_t>(std::clamp(wanted, kFewest, kMost)), .batch = batch};
}

/// A point while it is measured.
struct Measuring {
  explicit Measuring(const Point& of) : point(of) {}

  Point point;   ///< the first of those that it stands for
  Round agreed;  ///< the last one, as soon as there are readings
  std::vector<Reading> readings;
  Finding finding;
};

/// All that is to be measured, by what tells points apart. Those whose schedules differ in their names alone are one.
using Key = std::tuple<Collective, std::string, int, std::size_t, MemoryKind>;
Key key_of(const Point& point) { return {point.collective, point.algorithm, point.ranks, point.bytes, point.memory}; }
using AllMeasuring = std::map<Key, Measuring>;

/// Of each point the one that is measured in its place: of those with the same schedule the first.
std::vector<Point> stand_ins_for(std::vector<Point> points) {
  std::map<std::pair<Collective, int>, std::vector<std::string>> names;
  for (const Point& point : points) names[{point.collective, point.ranks}].push_back(point.algorithm);
  std::map<std::pair<Collective, int>, std::map<std::string, std::string>> first;
  for (const auto& [of, all] : names) first[of] = first_alike(all, {.collective = of.first, .ranks = of.second});
  for (Point& point : points) point.algorithm = first.at({point.collective, point.ranks}).at(point.algorithm);
  return points;
}

/// What is compared, measured side by side: by size, and of that by ranks.
using MeasuringRound = std::map<std::size_t, std::map<int, std::vector<Measuring*>>>;

std::vector<Point> points_of(const std::vector<Measuring*>& all) {
  std::vector<Point> points;
  points.reserve(all.size());
  for (const Measuring* one : all) points.push_back(one->point);
  return points;
}

/// Rounds, counted from 0, and how long each takes for a point.
struct Turn {
  int round = 0;
  double seconds = 0;
};

/// As many iterations and operations as before, where that is known. What a disturbance made seem long has a short
/// batch, and what the barrier adds to each of its operations; so of short ones each round finds out anew.
Round round_for(const World& world, GroupSubject& subject, FilledOperands& operands, const Measuring& one,
                double seconds) {
  const bool is_long = !one.readings.empty() && operations_a_batch(one.readings.back().seconds) == 1;
  return is_long ? one.agreed : agreed_round(world, subject, operands, seconds);
}

/// A round on one rank of a job; what it finds is the same on all ranks, of which the first writes it down.
void measure_on(World& world, const Turn& turn, CrossingProbe& probe, const std::vector<Measuring*>& all) {
  bind_thread(world.rank(), world.size());
  const bool is_first = world.rank() == 0;
  const bool probes = is_first || world.rank() + 1 == world.size();
  const Room room(world, points_of(all));
  for (Measuring* one : all) {
    const Point& point = one->point;
    GroupSubject subject(world, point.collective,
                         {.options = {.algorithm = point.algorithm, .purpose = {}, .reduction = Reduction::kFast}});
    const Pattern pattern(shape_of(point, world));
    FilledOperands operands(pattern, layout_of(pattern), room.of(point.memory));
    (void)median_of_slowest(world, subject, operands, {});  // plans are made
    const Round round = round_for(world, subject, operands, *one, turn.seconds);
    const double seconds = median_of_slowest(world, subject, operands, round);
    const double distance = probes ? probe.measure(is_first) : 0;
    if (!is_first) continue;  // after a reduction of all: nobody reads it any more
    one->agreed = round;
    one->readings.push_back({turn.round, seconds, distance});
  }
}

double usual_distance(const AllMeasuring& measured) {
  std::vector<double> distances;
  for (const auto& [key, one] : measured) {
    for (const Reading& reading : one.readings) distances.push_back(reading.distance);
  }
  return median(distances);
}

/// What is made of all that was read; points of one size were measured beside each other, and sizes in the same rounds.
void find(AllMeasuring& measured, double distance) {
  std::map<std::size_t, std::vector<Measuring*>> by_size;
  for (auto& [key, one] : measured) by_size[one.point.bytes].push_back(&one);
  std::vector<Points> sizes;
  for (const auto& [bytes, all] : by_size) {
    Points& points = sizes.emplace_back();
    points.reserve(all.size());
    for (const Measuring* one : all) points.push_back(one->readings);
  }
  const std::vector<std::vector<Finding>> findings = findings_of(sizes, distance);
  auto of_size = findings.begin();
  for (const auto& [bytes, all] : by_size) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->finding = (*of_size)[i];
    ++of_size;
  }
}

/// One round over those that are wanted.
void measure_round(Medium medium, const Turn& turn, AllMeasuring& measured,
                   const std::function<bool(const Measuring&)>& is_wanted) {
  MeasuringRound round;
  for (auto& [key, one] : measured) {
    if (is_wanted(one)) round[one.point.bytes][one.point.ranks].push_back(&one);
  }
  for (const auto& [bytes, by_ranks] : round) {
    for (const auto& one : by_ranks) {
      CrossingProbe probe;
      const auto measure = [&](World& world) { measure_on(world, turn, probe, one.second); };
      detail::run_threads_uncalibrated(one.first, medium, measure);
    }
  }
}

void measure_all_rounds(const Sampling& sampling, AllMeasuring& measured) {
  int rounds = 0;
  Turn turn{.seconds = sampling.seconds_a_round};
  const auto measure = [&](const std::function<bool(const Measuring&)>& is_wanted) {
    measure_round(sampling.medium, turn, measured, is_wanted);
    ++turn.round;
  };
  const auto begin_round = [&] {
    if (sampling.begins_round) sampling.begins_round(rounds);
    ++rounds;
  };
  while (rounds < sampling.rounds) {
    begin_round();
    for (int pass = 1; pass < sampling.passes_of_small; ++pass)
      measure([&](const Measuring& one) { return one.point.bytes <= sampling.small_bytes; });
    measure([](const Measuring&) { return true; });
  }
  const double distance = usual_distance(measured);
  find(measured, distance);
  const auto is_unclear = [](const Measuring& one) { return !one.finding.is_clear; };
  while (rounds < sampling.rounds + sampling.more_rounds &&
         std::any_of(measured.begin(), measured.end(), [&](const auto& one) { return is_unclear(one.second); })) {
    begin_round();
    measure(is_unclear);
    find(measured, distance);
  }
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
      for (const std::size_t bytes : sizes) points.push_back({collective, std::string(name), ranks, bytes, memory});
    }
  }
  return points;
}

std::vector<Sample> take_samples(const Sampling& sampling, const std::vector<Point>& points) {
  const std::vector<Point> stand_ins = stand_ins_for(points);
  AllMeasuring measured;
  for (const Point& point : stand_ins) measured.try_emplace(key_of(point), point);
  measure_all_rounds(sampling, measured);
  std::vector<Sample> samples;
  std::map<std::tuple<Collective, std::string, int>, std::shared_ptr<const HostJob>> jobs;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const Measuring& one = measured.at(key_of(stand_ins[i]));
    auto& job = jobs[{point.collective, point.algorithm, point.ranks}];
    if (!job) {
      job = std::make_shared<HostJob>(
          find_algorithm(point.algorithm).build({.collective = point.collective, .ranks = point.ranks}));
    }
    samples.push_back({.collective = point.collective,
                       .algorithm = point.algorithm,
                       .ranks = point.ranks,
                       .bytes = static_cast<double>(point.bytes),
                       .memory = point.memory,
                       .seconds = one.finding.usual.seconds,
                       .error = one.finding.usual.error,
                       .other_state_s = one.finding.other.seconds,
                       .other_state_error = one.finding.other.error,
                       .job = job});
  }
  return samples;
}

}  // namespace lockstep::bench
