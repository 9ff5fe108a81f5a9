#include "bench/calibrate.h"
#include "base/atomic_file.h"
#include "base/standard_streams.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/schedule_argument.h"
#include "planner/calibration/in_force.h"
#include "report/writable.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lockstep::cli {

namespace {

struct CalibrateOptions {
  std::string ranks;
  bool fast = false;
};

int ranks_of(const CalibrateOptions& options) {
  return options.ranks.empty() ? std::clamp(this_machine().cores, 4, kMostCalibratedRanks) : parse_ranks(options.ranks);
}

bench::CalibrationPlan plan_of(const CalibrateOptions& options) {
  const int most = ranks_of(options);
  if (most < 2 || most > kMostCalibratedRanks) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("Calibration takes 2 to {} ranks; -n says {}.", kMostCalibratedRanks, most));
  }
  return {.ranks = most, .fast = options.fast, .tell = [](const std::string& line) { say_error(line + "\n"); }};
}

std::string describe_errors(std::string_view transport, const std::vector<Sample>& samples, const HeldBack& held_back) {
  return fmt::format("{}, {} measurements: of those held back it predicts {}\n", transport, samples.size(),
                     to_text(held_back));
}

/// As `lockstep price` takes it.
std::string describe_link(std::string_view transport, const FlatCost& link) {
  return fmt::format(
      "{} between two ranks, as a flat network: --alpha {:.3g}us --bandwidth {:.3g}GB/s --gamma {:.3g}ns/B\n",
      transport, 1e6 * link.alpha_s, 1e-9 / link.beta_s, 1e9 * link.gamma_s);
}

std::string describe_auto(int ranks, Medium medium, const JobCalibration& followed) {
  const SelectionInForce used = selection_in_force(ranks, medium, {}, followed);
  return fmt::format("auto on {} ranks over {}: {}\n({})\n", ranks, to_string(medium), used.selection.to_text(),
                     used.source);
}

std::string describe_all(const bench::Calibrated& calibrated, int ranks) {
  const auto& [calibration, no_tcp] = calibrated;
  const Machine& machine = calibration.machine;
  std::string text = fmt::format("{}, {}: copies move {:.1f} GB/s of memory traffic\n", machine.processor,
                                 counted(static_cast<std::uint64_t>(machine.cores), "core"),
                                 1e-9 * calibration.memory_bytes_per_second);
  text += describe_link("shm", calibration.link);
  if (no_tcp.empty()) text += describe_link("tcp", calibration.tcp.link);
  text += describe_errors("shm", calibration.samples, calibration.held_back);
  text += no_tcp.empty() ? describe_errors("tcp", calibration.tcp.samples, calibration.tcp.held_back)
                         : fmt::format("tcp was not measured: {}\n", no_tcp);
  const JobCalibration followed{.calibration = std::make_shared<const Calibration>(calibration)};
  text += describe_auto(ranks, Medium::kSharedMemory, followed);
  return text + describe_auto(std::min(ranks, bench::kMostRanksOverTcp), Medium::kTcp, followed);
}

/// Stores what was measured and says what it is: each though the other fails, since it took minutes.
void store_and_report(const bench::Calibrated& calibrated, const std::filesystem::path& file, int ranks) {
  std::string fault;
  try {
    write_file_atomically(file, to_json(calibrated.calibration));
  } catch (const std::exception& error) {
    fault = error.what();
  }
  try {
    write_output("",
                 describe_all(calibrated, ranks) + (fault.empty() ? fmt::format("Stored in {}\n", file.string()) : ""));
  } catch (const Error& error) {
    if (fault.empty()) throw;
    throw Error(error.code(), fmt::format("{} Nor is it stored: {}", error.what(), fault));
  }
  if (!fault.empty()) throw Error(ErrorCode::kIo, fault);
}

/// What is measured is stored as the machine's.
void require_all_cores() {
  const int mine = available_cpus().threads;
  const int all = machine_cpus().threads;
  if (mine >= all) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("This process may use {} of the machine's {} CPUs, and what is measured would be stored as "
                          "the machine's; start it without taskset, numactl or a launcher that binds it.",
                          mine, all));
}

/// Where it will be stored, which is better known to be possible before minutes of measuring.
std::filesystem::path place_to_store() {
  const auto file = calibration_file();
  if (!file) {
    throw Error(ErrorCode::kInvalidArgument,
                "There is no place for the calibration; set XDG_CACHE_HOME (or HOME) to a folder that can be written.");
  }
  std::error_code error;
  std::filesystem::create_directories(file->parent_path(), error);
  if (!error) error = obstacle_of_folder(file->parent_path());
  if (error) {
    throw Error(ErrorCode::kIo,
                fmt::format("The folder {} for the calibration cannot be made or written to: {}; set XDG_CACHE_HOME.",
                            file->parent_path().string(), error.message()));
  }
  const std::filesystem::file_status there = std::filesystem::status(*file, error);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    throw Error(ErrorCode::kIo, fmt::format("The calibration would be stored in {}, which is there and not a file; "
                                            "remove it, or set XDG_CACHE_HOME.",
                                            file->string()));
  }
  return *file;
}

void run(const CalibrateOptions& options) {
  const bench::CalibrationPlan plan = plan_of(options);  // before a folder is made
  const std::filesystem::path file = place_to_store();
  require_all_cores();
  const bench::Calibrated calibrated = bench::calibrate(plan);
  const int cores = std::clamp(calibrated.calibration.machine.cores, 2, kMostCalibratedRanks);
  store_and_report(calibrated, file, options.ranks.empty() ? cores : parse_ranks(options.ranks));
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
  command->add_flag("--fast", options->fast, "Measure for a few minutes instead of twenty: less exact");
  command->callback([options] { run(*options); });
}

}  // namespace lockstep::cli
