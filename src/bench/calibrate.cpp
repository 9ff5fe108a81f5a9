#include "bench/calibrate.h"

#include "base/clock.h"
#include "bench/calibration_points.h"
#include "bench/held_back.h"
#include "bench/link_cost.h"
#include "bench/memory.h"
#include "bench/samples.h"
#include "planner/calibration/predicted_selection.h"
#include "topology/caches.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/world.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::bench {

namespace {

/// Takes samples and tells of each round.
std::vector<Sample> measure(const CalibrationPlan& plan, Sampling sampling, std::string_view what,
                            const std::vector<Point>& points) {
  if (plan.tell) {
    sampling.begins_round = [&](int round) {
      plan.tell(fmt::format("{}: {}, round {} of at most {}", to_string(sampling.medium), what, round + 1,
                            sampling.rounds + sampling.more_rounds));
    };
  }
  return take_samples(sampling, points);
}

Measured measure_all(const CalibrationPlan& plan, const Sampling& sampling, int most) {
  const Numbers numbers(most);
  const CalibrationPoints points = calibration_points(sampling.medium, numbers);
  // In turn, so that what comes and goes on the machine does not tell those that are held back from the others.
  Measured measured = parted(measure(plan, sampling, "what predictions are made from", points.fitted), numbers);
  Sampling of_others = sampling;
  of_others.small_bytes = Sampling().small_bytes;  // no prediction is held against them
  if (plan.fast) of_others.rounds = 1;
  measured.other_collectives = measure(plan, of_others, "other collectives", points.others);
  return measured;
}

/// The memory traffic of the copies that `lockstep bench` makes, on all cores at once. Of several rounds the best: what
/// the machine can do, where that prints what it did.
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

Calibration::Tcp calibrate_tcp(const CalibrationPlan& plan, int cores) {
  // A round over loopback takes long: large buffers move at a few GB/s.
  const Sampling sampling = plan.fast
                                ? Sampling{.medium = Medium::kTcp, .rounds = 1, .seconds_a_round = 1e-3}
                                : Sampling{.medium = Medium::kTcp, .rounds = 5, .passes_of_small = 4, .more_rounds = 6};
  Measured measured = measure_all(plan, sampling, std::min(plan.ranks, kMostRanksOverTcp));
  Calibration::Tcp tcp{
      .model = fit_tcp(measured.known, cores), .link = measure_link(Medium::kTcp), .held_back = {}, .samples = {}};
  predict(measured,
          [&](const Sample& sample) { return tcp.model.predict(TcpJob(sample.job->schedule), sample.bytes); });
  tcp.held_back = errors_of_held_back(measured, std::nullopt);
  tcp.samples = measured.all();
  return tcp;
}

}  // namespace

Calibrated calibrate(const CalibrationPlan& plan) {
  const Machine machine = this_machine();
  // Up to where a shared cache is lost, which differs most from round to round.
  constexpr std::size_t kBeyondCaches = std::size_t{32} << 20;
  const Sampling sampling = plan.fast ? Sampling{.seconds_a_round = 1e-3}
                                      : Sampling{.passes_of_small = 3, .small_bytes = kBeyondCaches, .more_rounds = 6};
  Measured measured = measure_all(plan, sampling, plan.ranks);
  Calibration calibration{.machine = machine,
                          .shm = fit(measured.known, machine),
                          .link = measure_link(Medium::kSharedMemory),
                          .memory_bytes_per_second = memory_traffic(machine.cores),
                          .held_back = {},
                          .samples = {},
                          .selections = {},
                          .tcp = {}};
  predict(measured,
          [&](const Sample& sample) { return calibration.shm.predict(*sample.job, {sample.bytes}, machine); });
  calibration.held_back = errors_of_held_back(measured, machine);
  calibration.samples = measured.all();
  // Of many more than were measured the prices say little, and to find them takes long.
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 12, kMostSelectedRanks}) {
    if (ranks <= 2 * plan.ranks) calibration.selections.emplace(ranks, predicted_selection(calibration, ranks));
  }
  Calibrated calibrated{std::move(calibration), {}};
  try {
    calibrated.calibration.tcp = calibrate_tcp(plan, machine.cores);
  } catch (const Error& error) {  // a loopback that is down costs no more than that
    calibrated.no_tcp = error.what();
  }
  return calibrated;
}

}  // namespace lockstep::bench
