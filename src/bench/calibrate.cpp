#include "bench/calibrate.h"

#include "base/clock.h"
#include "bench/cache.h"
#include "bench/memory.h"
#include "bench/samples.h"
#include "schedule/promise.h"

#include <lockstep/error.h>
#include <lockstep/world.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace lockstep::bench {

namespace {

// Fitted on sizes of which the ones that are held back have none.
const std::vector<std::size_t>& fitted_sizes() {
  static const std::vector<std::size_t> kSizes{4, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24, 1 << 26};
  return kSizes;
}
const std::vector<std::size_t>& held_back_sizes() {
  static const std::vector<std::size_t> kSizes{256, 1 << 12, 1 << 16, 1 << 19, 1 << 21, 1 << 23, 1 << 25};
  return kSizes;
}

void append(std::vector<Sample>& all, const std::vector<Sample>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// What prices are fitted to: all_gather only copies, which tells copies from sums.
const std::vector<Collective>& fitted_collectives() {
  static const std::vector<Collective> kFitted{Collective::kAllReduce, Collective::kAllGather};
  return kFitted;
}

/// What is fitted and what is held back, of which a third has other numbers of ranks too; and what is only measured,
/// since what is measured needs no prediction (planner/measured_selection.h).
struct Measured {
  std::vector<Sample> known;
  std::vector<Sample> unknown;
  std::vector<Sample> others;

  std::vector<Sample> all() const {
    std::vector<Sample> samples = known;
    append(samples, unknown);
    append(samples, others);
    return samples;
  }
};

/// The other collectives at all sizes, and where ranks share memory all of them on plain memory.
std::vector<Point> other_points(Medium medium, int ranks) {
  std::vector<std::size_t> sizes = fitted_sizes();
  sizes.insert(sizes.end(), held_back_sizes().begin(), held_back_sizes().end());
  std::vector<Collective> others;
  for (const Collective collective : kCollectives) {
    const std::vector<Collective>& fitted = fitted_collectives();
    const bool is_fitted = std::find(fitted.begin(), fitted.end(), collective) != fitted.end();
    if (!is_fitted && collective != Collective::kBarrier) others.push_back(collective);
  }
  std::vector<Point> points = points_at(others, sizes, ranks);
  if (medium != Medium::kSharedMemory) return points;
  others.insert(others.end(), fitted_collectives().begin(), fitted_collectives().end());
  for (Point& point : points_at(others, sizes, ranks, MemoryKind::kPlain)) points.push_back(std::move(point));
  return points;
}

Measured measure_all(const Sampling& sampling, bool fast, int most) {
  Sampling of_others = sampling;
  if (fast) of_others.rounds = 1;
  const auto measure = [](Sampling how, int ranks, const std::vector<Point>& points, std::vector<Sample>& samples) {
    how.ranks = ranks;
    append(samples, take_samples(how, points));
  };
  Measured measured;
  for (const int ranks : std::set<int>{2, std::max(2, most / 2), most}) {
    measure(sampling, ranks, points_at(fitted_collectives(), fitted_sizes(), ranks), measured.known);
    measure(of_others, ranks, other_points(sampling.medium, ranks), measured.others);
  }
  for (const int ranks : std::set<int>{2, most == 2 ? 2 : 3, std::max(2, most - 1), most}) {
    measure(sampling, ranks, points_at(fitted_collectives(), held_back_sizes(), ranks), measured.unknown);
  }
  return measured;
}

/// The memory traffic of copies on all cores at once, as `lockstep bench` has it: the best of several rounds.
double memory_traffic(int cores) {
  constexpr int kTrafficRounds = 9;
  double best = 0;
  run_threads(cores, [&](World& world) {
    bind_thread(world.rank(), world.size());
    CopyProbe probe(last_level_cache_bytes());
    for (int round = 0; round < kTrafficRounds; ++round) {
      world.barrier().wait();
      const auto start = Clock::now();
      probe.run();
      double seconds = milliseconds_since(start) / 1000;
      world.all_reduce(buffer_of(&seconds, 1), ReduceOp::kMax).wait();
      if (world.rank() == 0) best = std::max(best, world.size() * probe.traffic_bytes() / seconds);
    }
  });
  return best;
}

Calibration::Tcp calibrate_tcp(const CalibrationPlan& plan) {
  // A round over loopback takes long: large buffers move at a few GB/s.
  const Sampling sampling = plan.fast ? Sampling{.medium = Medium::kTcp, .rounds = 1, .seconds_a_round = 1e-3}
                                      : Sampling{.medium = Medium::kTcp, .rounds = 3, .more_rounds = 6};
  const Measured measured = measure_all(sampling, plan.fast, std::min(plan.ranks, kMostRanksOverTcp));
  const TcpModel fitted = fit_tcp(measured.known);
  Calibration::Tcp tcp{.model = {}, .held_back = {}, .samples = measured.all()};
  tcp.held_back = error_of(measured.unknown,
                           [&](const Sample& sample) { return fitted.predict(sample.job->schedule, sample.bytes); });
  // What it costs to wake a rank does not follow from how many there are: kept is the fit to those held back too.
  std::vector<Sample> both = measured.known;
  append(both, measured.unknown);
  tcp.model = fit_tcp(both);
  return tcp;
}

}  // namespace

Calibrated calibrate(const CalibrationPlan& plan) {
  const Machine machine = this_machine();
  const Sampling sampling = plan.fast ? Sampling{.seconds_a_round = 1e-3} : Sampling{};
  const Measured measured = measure_all(sampling, plan.fast, plan.ranks);
  Calibration calibration{.machine = machine,
                          .shm = fit(measured.known, machine),
                          .memory_bytes_per_second = memory_traffic(machine.cores),
                          .held_back = {},
                          .samples = measured.all(),
                          .selections = {},
                          .tcp = {}};
  calibration.held_back = error_of(calibration.shm, measured.unknown, machine);
  // Of many more than were measured the prices say little, and to find them takes long.
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 12, kMostSelectedRanks}) {
    if (ranks <= 2 * plan.ranks) calibration.selections.emplace(ranks, selection_by(calibration, ranks));
  }
  Calibrated calibrated{std::move(calibration), {}};
  try {
    calibrated.calibration.tcp = calibrate_tcp(plan);
  } catch (const Error& error) {  // a loopback that is down costs no more than that
    calibrated.no_tcp = error.what();
  }
  return calibrated;
}

}  // namespace lockstep::bench
