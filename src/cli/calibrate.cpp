#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "base/units.h"
#include "bench/cache.h"
#include "bench/memory.h"
#include "bench/rounds.h"
#include "cli/command.h"
#include "cli/ranks.h"
#include "cli/schedule_argument.h"
#include "planner/calibration.h"
#include "planner/in_force.h"
#include "planner/price.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/world.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <thread>

namespace lockstep::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double lower_quartile(std::vector<double> values) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Binds this thread as the launcher binds the processes of a job.
void bind(int rank, int ranks) {
  const CpuSet cpus = deal_cpus(ranks)[static_cast<std::size_t>(rank)];
  if (cpus.empty()) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int cpu : cpus) CPU_SET(static_cast<unsigned>(cpu), &mask);
  ::sched_setaffinity(0, sizeof mask, &mask);
}

struct Point {
  Collective collective;
  std::string algorithm;
  std::size_t bytes;
};

/// Measures points on so many ranks, which are threads that share memory as processes do. Operations follow each other
/// in batches, as in `lockstep bench`; an iteration's time is the slowest rank's, a round's the lower quartile of its
/// iterations, a point's the lower quartile of the rounds: other programs come and go, and so does an order of ranks on
/// their cores that happens to be a lucky one.
class Measurement {
 public:
  Measurement(int ranks, std::vector<Point> points, std::chrono::duration<double> for_each_round)
      : ranks_(ranks),
        points_(std::move(points)),
        for_each_round_s_(for_each_round.count()),
        seconds_(points_.size()) {}

  std::vector<HostSample> run() {
    run_threads(ranks_, [&](World& world) { measure(world); });
    std::vector<HostSample> samples;
    std::map<std::pair<Collective, std::string>, std::shared_ptr<const HostJob>> jobs;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const auto& [collective, algorithm, size] = points_[i];
      auto& job = jobs[{collective, algorithm}];
      if (!job) {
        job = std::make_shared<HostJob>(find_algorithm(algorithm).build({.collective = collective, .ranks = ranks_}));
      }
      samples.push_back({.collective = collective,
                         .algorithm = algorithm,
                         .ranks = ranks_,
                         .bytes = static_cast<double>(size),
                         .seconds = lower_quartile(seconds_[i]),
                         .job = job});
    }
    return samples;
  }

 private:
  static constexpr int kRounds = 7;

  void measure(World& world) {
    bind(world.rank(), world.size());
    const RegisteredMemory memory = world.allocate(kMostBytes);
    std::memset(memory.data(), 0, memory.bytes());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < points_.size(); ++i) {
        const double seconds = quartile_of_slowest(world, memory, points_[i]);
        if (world.rank() == 0) seconds_[i].push_back(seconds);
      }
    }
  }

  double quartile_of_slowest(const World& world, const RegisteredMemory& memory, const Point& point) const {
    const auto [iterations, batch] = agreed_size(world, memory, point);
    std::vector<double> seconds(static_cast<std::size_t>(iterations));
    for (double& mine : seconds) {
      world.barrier().wait();
      // Ranks that share cores have to fall into step first.
      if (batch > 1) (void)run_batch(world, memory, point, 1);
      mine = run_batch(world, memory, point, batch) / batch;
    }
    world.all_reduce(buffer_of(seconds), ReduceOp::kMax).wait();
    return lower_quartile(seconds);
  }

  /// The seconds that so many operations take after one another.
  static double run_batch(const World& world, const RegisteredMemory& memory, const Point& point, int operations) {
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

  struct Size {
    int iterations;
    int batch;
  };
  /// As many as fit into the time, the same on all ranks.
  Size agreed_size(const World& world, const RegisteredMemory& memory, const Point& point) const {
    constexpr int kProbes = 4;
    constexpr double kFewest = 3;
    constexpr double kMost = 1000;
    (void)run_batch(world, memory, point, 1);
    double once_s = std::max(run_batch(world, memory, point, kProbes) / kProbes, 1e-7);
    world.all_reduce(buffer_of(&once_s, 1), ReduceOp::kMax).wait();
    const auto batch = static_cast<int>(bench::choose_batch(once_s));
    const double iterations = std::clamp(for_each_round_s_ / (once_s * batch), kFewest, kMost);
    return {static_cast<int>(iterations), batch};
  }

  int ranks_;
  std::vector<Point> points_;
  double for_each_round_s_;
  std::vector<std::vector<double>> seconds_;  ///< of each point, by round
};

/// The memory traffic of copies on all cores at once, as `lockstep bench` has it: the best of several rounds.
double memory_traffic(int cores) {
  constexpr int kRounds = 9;
  double best = 0;
  run_threads(cores, [&](World& world) {
    bind(world.rank(), world.size());
    bench::CopyProbe probe(bench::last_level_cache_bytes());
    for (int round = 0; round < kRounds; ++round) {
      world.barrier().wait();
      const auto start = Clock::now();
      probe.run();
      double seconds = seconds_since(start);
      world.all_reduce(buffer_of(&seconds, 1), ReduceOp::kMax).wait();
      if (world.rank() == 0) best = std::max(best, world.size() * probe.traffic_bytes() / seconds);
    }
  });
  return best;
}

std::vector<Point> points_at(const std::vector<std::size_t>& sizes, int ranks) {
  constexpr double kMostTransfers = 1e4;
  std::vector<Point> points;
  // An all_gather copies only, so that it tells copies from reductions.
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather}) {
    for (const std::string_view name : algorithms_for(collective)) {
      if (estimated_transfers(name, collective, ranks) > kMostTransfers) continue;
      for (const std::size_t bytes : sizes) points.push_back({collective, std::string(name), bytes});
    }
  }
  return points;
}

void append(std::vector<HostSample>& all, std::vector<HostSample> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

struct CalibrateOptions {
  std::string ranks;
  bool fast = false;
};

constexpr int kMostCalibratedRanks = 64;

int ranks_of(const CalibrateOptions& options) {
  return options.ranks.empty() ? std::clamp(this_machine().cores, 4, kMostCalibratedRanks) : parse_ranks(options.ranks);
}

Calibration calibrate(const CalibrateOptions& options) {
  const Machine machine = this_machine();
  const int most = ranks_of(options);
  if (most < 2 || most > kMostCalibratedRanks) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("Calibration takes 2 to {} ranks; -n says {}.", kMostCalibratedRanks, most));
  }
  // Fitted on sizes and ranks of which the ones that are held back have none.
  const std::vector<std::size_t> fitted{4, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24, kMostBytes};
  const std::vector<std::size_t> held_back{256, 1 << 12, 1 << 16, 1 << 19, 1 << 21, 1 << 23, 1 << 25};
  const std::chrono::duration<double> for_each_round(options.fast ? 0.001 : 0.005);
  std::vector<HostSample> known;
  std::vector<HostSample> unknown;
  for (const int ranks : std::set<int>{2, std::max(2, most / 2), most}) {
    append(known, Measurement(ranks, points_at(fitted, ranks), for_each_round).run());
  }
  // And the most ranks at every size, since what is measured needs no prediction (planner/measured_selection.h).
  for (const int ranks : std::set<int>{2, most == 2 ? 2 : 3, std::max(2, most - 1), most}) {
    append(unknown, Measurement(ranks, points_at(held_back, ranks), for_each_round).run());
  }
  Calibration calibration{.machine = machine,
                          .shm = fit(known, machine),
                          .memory_bytes_per_second = memory_traffic(machine.cores),
                          .held_back = {},
                          .samples = {},
                          .selections = {}};
  calibration.held_back = error_of(calibration.shm, unknown, machine);
  append(calibration.samples, std::move(known));
  append(calibration.samples, std::move(unknown));
  // Of many more than were measured the prices say little, and to find them takes long.
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 12, kMostSelectedRanks}) {
    if (ranks <= 2 * most) calibration.selections.emplace(ranks, selection_by(calibration, ranks));
  }
  return calibration;
}

void report(const Calibration& calibration, const std::filesystem::path& file, int ranks) {
  const auto& [processor, cores, memory, own, shared] = calibration.machine;
  std::string text =
      fmt::format("{}, {}: copies move {:.1f} GB/s of memory traffic\n", processor,
                  counted(static_cast<std::uint64_t>(cores), "core"), 1e-9 * calibration.memory_bytes_per_second);
  text +=
      fmt::format("shm, {} measurements: predicted from others, a median error of {:.0f} %, at worst {:.0f} %\n",
                  calibration.samples.size(), 100 * calibration.held_back.median, 100 * calibration.held_back.worst);
  const SelectionInForce used = selection_in_force(ranks);
  text += fmt::format("auto on {} ranks: {}\n({})\nStored in {}\n", ranks, used.selection.to_text(), used.source,
                      file.string());
  write_output("", text);
}

void run(const CalibrateOptions& options) {
  const auto file = calibration_file();
  if (!file) {
    throw Error(ErrorCode::kInvalidArgument,
                "There is no place for the calibration; set XDG_CACHE_HOME (or HOME) to a folder that can be written.");
  }
  std::error_code error;
  std::filesystem::create_directories(file->parent_path(), error);
  if (error) {
    throw Error(ErrorCode::kIo, fmt::format("The folder {} for the calibration cannot be made: {}; set XDG_CACHE_HOME.",
                                            file->parent_path().string(), error.message()));
  }
  const Calibration calibration = calibrate(options);
  write_file_atomically(*file, to_json(calibration));
  report(
      calibration, *file,
      options.ranks.empty() ? std::min(calibration.machine.cores, kMostCalibratedRanks) : parse_ranks(options.ranks));
}

}  // namespace

void add_calibrate(Program& program) {
  CLI::App* command = program.app.add_subcommand(
      "calibrate", "Measure what communication costs here, and store it: `auto` and predictions follow it");
  auto options = std::make_shared<CalibrateOptions>();
  command
      ->add_option("-n,--ranks", options->ranks,
                   "The most ranks to measure (default: the cores, at least 4 and at most 64)")
      ->type_name("N");
  command->add_flag("--fast", options->fast, "Measure briefly: less exact");
  command->callback([options] { run(*options); });
}

}  // namespace lockstep::cli
