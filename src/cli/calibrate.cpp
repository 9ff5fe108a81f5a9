#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/ranks.h"
#include "cli/schedule_argument.h"
#include "planner/calibration.h"
#include "planner/in_force.h"
#include "planner/price.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/world.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>

namespace lockstep::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Point {
  Collective collective;
  std::string algorithm;
  std::size_t bytes;
};

/// Measures points on so many ranks, which are threads that share memory as processes do. An iteration's time is the
/// slowest rank's, a round's the median of its iterations, a point's the best of several rounds: the system may
/// keep two ranks on one core for a while, and other programs come and go.
class Measurement {
 public:
  Measurement(int ranks, std::vector<Point> points, std::chrono::duration<double> for_each_round)
      : ranks_(ranks), points_(std::move(points)), for_each_round_s_(for_each_round.count()), best_(points_.size()) {}

  std::vector<HostSample> run(const Machine& machine) {
    run_threads(ranks_, [&](World& world) { measure(world); });
    std::vector<HostSample> samples;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const auto& [collective, algorithm, size] = points_[i];
      const Schedule schedule = find_algorithm(algorithm).build({.collective = collective, .ranks = ranks_});
      const auto bytes = static_cast<double>(size);
      samples.push_back({.collective = collective,
                         .algorithm = algorithm,
                         .ranks = ranks_,
                         .bytes = bytes,
                         .seconds = best_[i],
                         .features = features_of(schedule, bytes, machine)});
    }
    return samples;
  }

 private:
  static constexpr int kRounds = 3;

  void measure(World& world) {
    const RegisteredMemory memory = world.allocate(kMostBytes);
    std::memset(memory.data(), 0, memory.bytes());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < points_.size(); ++i) {
        const double seconds = median_of_slowest(world, memory, points_[i]);
        if (world.rank() == 0) best_[i] = round == 0 ? seconds : std::min(best_[i], seconds);
      }
    }
  }

  double median_of_slowest(const World& world, const RegisteredMemory& memory, const Point& point) const {
    std::vector<double> seconds(static_cast<std::size_t>(agreed_iterations(world, memory, point)));
    for (double& mine : seconds) {
      world.barrier().wait();
      mine = once(world, memory, point);
    }
    world.all_reduce(buffer_of(seconds), ReduceOp::kMax).wait();
    return median(seconds);
  }

  static double once(const World& world, const RegisteredMemory& memory, const Point& point) {
    const auto ranks = static_cast<std::size_t>(world.size());
    std::size_t count = point.bytes / sizeof(float);
    if (point.collective == Collective::kAllGather) count = std::max(ranks, count / ranks * ranks);
    const Buffer buffer = buffer_of(static_cast<float*>(memory.data()), count);
    const OperationOptions options{.algorithm = point.algorithm, .purpose = {}};
    const auto start = Clock::now();
    Pending pending = point.collective == Collective::kAllGather ? world.all_gather(buffer, options)
                                                                 : world.all_reduce(buffer, ReduceOp::kSum, options);
    pending.wait();
    return seconds_since(start);
  }

  /// As many as fit into the time, the same on all ranks.
  int agreed_iterations(const World& world, const RegisteredMemory& memory, const Point& point) const {
    constexpr double kFewest = 3;
    constexpr double kMost = 1000;
    double once_s = once(world, memory, point);
    once_s = std::max(once(world, memory, point), 1e-7);
    double iterations = std::clamp(for_each_round_s_ / once_s, kFewest, kMost);
    world.all_reduce(buffer_of(&iterations, 1), ReduceOp::kMin).wait();
    return static_cast<int>(iterations);
  }

  int ranks_;
  std::vector<Point> points_;
  double for_each_round_s_;
  std::vector<double> best_;
};

/// What all cores together copy, read and written counted, beyond their caches.
double memory_traffic(int cores) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr int kRounds = 5;
  std::vector<double> seconds(static_cast<std::size_t>(cores));
  std::vector<std::thread> threads;
  threads.reserve(seconds.size());
  for (double& mine : seconds) {
    threads.emplace_back([&mine] {
      std::vector<char> from(kBytes, 1);
      std::vector<char> to(kBytes, 2);
      const auto start = Clock::now();
      for (int round = 0; round < kRounds; ++round) std::memcpy(to.data(), from.data(), kBytes);
      mine = seconds_since(start);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 2.0 * kBytes * kRounds * cores / *std::max_element(seconds.begin(), seconds.end());
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

Calibration calibrate(const CalibrateOptions& options) {
  constexpr int kMostCalibratedRanks = 64;
  const Machine machine = this_machine();
  const int most = options.ranks.empty() ? std::max(4, machine.cores) : parse_ranks(options.ranks);
  if (most < 2 || most > kMostCalibratedRanks) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("Calibration takes 2 to {} ranks; -n says {}.", kMostCalibratedRanks, most));
  }
  // Fitted on sizes and ranks of which the ones that are held back have none.
  const std::vector<std::size_t> fitted{4, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24, kMostBytes};
  const std::vector<std::size_t> held_back{256, 1 << 12, 1 << 16, 1 << 19, 1 << 21, 1 << 23, 1 << 25};
  const std::chrono::duration<double> for_each_round(options.fast ? 0.001 : 0.015);
  std::vector<HostSample> known;
  std::vector<HostSample> unknown;
  for (const int ranks : std::set<int>{2, std::max(2, most / 2), most}) {
    append(known, Measurement(ranks, points_at(fitted, ranks), for_each_round).run(machine));
  }
  for (const int ranks : std::set<int>{2, most == 2 ? 2 : 3, std::max(2, most - 1)}) {
    append(unknown, Measurement(ranks, points_at(held_back, ranks), for_each_round).run(machine));
  }
  Calibration calibration{.machine = machine,
                          .shm = fit(known),
                          .memory_bytes_per_second = memory_traffic(machine.cores),
                          .held_back = {},
                          .samples = {}};
  calibration.held_back = error_of(calibration.shm, unknown);
  append(calibration.samples, std::move(known));
  append(calibration.samples, std::move(unknown));
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
  report(calibration, *file, options.ranks.empty() ? calibration.machine.cores : parse_ranks(options.ranks));
}

}  // namespace

void add_calibrate(Program& program) {
  CLI::App* command = program.app.add_subcommand(
      "calibrate", "Measure what communication costs here, and store it: `auto` and predictions follow it");
  auto options = std::make_shared<CalibrateOptions>();
  command->add_option("-n,--ranks", options->ranks, "The most ranks to measure (default: the cores, at least 4)")
      ->type_name("N");
  command->add_flag("--fast", options->fast, "Measure briefly: less exact");
  command->callback([options] { run(*options); });
}

}  // namespace lockstep::cli
