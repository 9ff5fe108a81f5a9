#include "bench/calibrate.h"

#include "base/clock.h"
#include "bench/cache.h"
#include "bench/memory.h"
#include "bench/samples.h"

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

/// What is fitted and what is held back. Of those held back a third has other numbers of ranks too; the most ranks are
/// measured at every size, since what is measured needs no prediction (planner/measured_selection.h).
struct Measured {
  std::vector<Sample> known;
  std::vector<Sample> unknown;

  std::vector<Sample> all() const {
    std::vector<Sample> samples = known;
    append(samples, unknown);
    return samples;
  }
};

Measured measure_all(Sampling sampling, int most) {
  Measured measured;
  for (const int ranks : std::set<int>{2, std::max(2, most / 2), most}) {
    sampling.ranks = ranks;
    append(measured.known, take_samples(sampling, points_at(fitted_sizes(), ranks)));
  }
  for (const int ranks : std::set<int>{2, most == 2 ? 2 : 3, std::max(2, most - 1), most}) {
    sampling.ranks = ranks;
    append(measured.unknown, take_samples(sampling, points_at(held_back_sizes(), ranks)));
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
  const Sampling sampling{
      .medium = Medium::kTcp, .ranks = 2, .rounds = plan.fast ? 1 : 3, .seconds_a_round = plan.fast ? 0.001 : 0.005};
  const Measured measured = measure_all(sampling, std::min(plan.ranks, kMostRanksOverTcp));
  const TcpModel fitted = fit_tcp(measured.known);
  Calibration::Tcp tcp{.model = {}, .held_back = {}, .samples = measured.all()};
  tcp.held_back = error_of(measured.unknown,
                           [&](const Sample& sample) { return fitted.predict(sample.job->schedule, sample.bytes); });
  // What it costs to wake a rank does not follow from how many there are: kept is the fit to all that was measured.
  tcp.model = fit_tcp(tcp.samples);
  return tcp;
}

}  // namespace

Calibrated calibrate(const CalibrationPlan& plan) {
  const Machine machine = this_machine();
  const Measured measured = measure_all(
      {.medium = Medium::kSharedMemory, .ranks = 2, .seconds_a_round = plan.fast ? 0.001 : 0.005}, plan.ranks);
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
