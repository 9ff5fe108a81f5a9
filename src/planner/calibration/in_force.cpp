#include "planner/calibration/in_force.h"

#include "base/digest.h"
#include "base/environment.h"
#include "base/units.h"
#include "planner/selection/measured_selection.h"
#include "schedule/relabelled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

/// A model that predicts worse than this what it has not seen chooses worse than the built-in selection.
constexpr double kMostTrustedError = 0.10;

std::string of_another_machine(const std::vector<std::string>& differing) {
  return fmt::format("what is stored was measured on another machine ({}); measure this one with `lockstep calibrate`.",
                     fmt::join(differing, "; "));
}

void take_over(const Selection& measured, int ranks, SelectionInForce& result) {
  if (measured.collectives().empty()) return;
  std::vector<std::string_view> names;
  for (const Collective collective : measured.collectives()) names.push_back(to_string(collective));
  result.selection.override_with(measured);
  result.source += fmt::format("; as measured here on {} ranks: {}", ranks, fmt::join(names, ", "));
}

/// What has been measured on all cores says nothing of fewer, and of ranks with cores of their own nothing of those
/// that share them. As ranks count them they are logical CPUs. Empty where it was measured on the like.
std::string of_other_cores(const Machine& machine, int ranks, const GroupCores& cores) {
  if (cores.count < machine.threads) {
    return fmt::format("what is stored was measured on {}, of which ranks may use {} now.",
                       counted(static_cast<std::uint64_t>(machine.threads), "logical CPU"), cores.count);
  }
  if (ranks > cores.count || !cores.shared) return "";
  return fmt::format("what is stored was measured of {} that share no core, and here other groups' share theirs.",
                     counted(static_cast<std::uint64_t>(ranks), "rank"));
}

/// Why predictions of so many ranks are not to be followed; empty where they are.
std::string distrust_of(const Calibration& calibration, int ranks) {
  const auto& [sizes, numbers_of_ranks] = calibration.held_back;
  const double error = std::max(sizes.median, numbers_of_ranks.median);
  if (error > kMostTrustedError) {
    return fmt::format("the calibration here is {:.0f} % wrong in the median, more than {:.0f} %", 100 * error,
                       100 * kMostTrustedError);
  }
  const auto is_of_as_many = [=](const Sample& sample) { return sample.ranks == ranks; };
  const bool is_measured = std::any_of(calibration.samples.begin(), calibration.samples.end(), is_of_as_many);
  if (numbers_of_ranks.worst > 0 || is_measured) return "";
  return fmt::format(
      "the calibration here has not measured {}, nor held back others to tell how wrong it is of them; "
      "`lockstep calibrate -n 4` does.",
      counted(static_cast<std::uint64_t>(ranks), "rank"));
}

/// Of ranks that share memory.
void follow_predictions(const Calibration& calibration, int ranks, SelectionInForce& result) {
  const std::string distrust = distrust_of(calibration, ranks);
  if (!distrust.empty()) {
    result.source += ", since " + distrust;
  } else if (has_selection(calibration, ranks)) {
    result.selection.override_with(stored_selection(calibration, ranks));
    result.source = "calibrated here";
  }
}

}  // namespace

JobCalibration job_calibration() {
  JobCalibration job;
  try {
    auto stored = stored_calibration();
    const auto differing = stored ? differences(stored->machine, this_machine()) : std::vector<std::string>();
    if (!differing.empty()) {
      job.fault = of_another_machine(differing);
    } else if (stored) {
      job.digest = digest_of(to_json(*stored));
      job.calibration = std::make_shared<const Calibration>(*std::move(stored));
    }
  } catch (const Error& error) {
    // No job fails, and no calibration either, because of what an older version or a full disk left in a cache.
    job.fault = error.what();
  }
  return job;
}

SelectionInForce selection_in_force(int ranks, Medium medium, const std::vector<int>& hosts,
                                    const JobCalibration& followed, const GroupCores& cores) {
  const Selection built_in = built_in_selection(ranks, medium, hosts, cores);
  SelectionInForce result{built_in, "built in"};
  const bool one_host = ranks_of_hosts(hosts).size() < 2;
  if (medium != Medium::kMpi && one_host) {
    if (!followed.fault.empty()) result.source += fmt::format(", since {}", followed.fault);
    const std::string why_not =
        followed.calibration ? of_other_cores(followed.calibration->machine, ranks, cores) : std::string();
    if (!why_not.empty()) {
      result.source += fmt::format(", since {}", why_not);
    } else if (followed.calibration) {
      const bool in_memory = medium == Medium::kSharedMemory;
      const Calibration& calibration = *followed.calibration;
      if (in_memory) follow_predictions(calibration, ranks, result);
      const auto& samples = in_memory ? calibration.samples : calibration.tcp.samples;
      take_over(measured_selection(samples, ranks, built_in), ranks, result);
    }
  }
  // Of plain memory, where it was not measured.
  result.selection.take_plain_from(built_in);
  if (const auto text = environment(kAlgorithmsVariable)) {
    result.selection.override_with(Selection::parse(*text, kAlgorithmsVariable));
    result.source += std::string(", then ") + kAlgorithmsVariable;
  }
  return result;
}

}  // namespace lockstep
