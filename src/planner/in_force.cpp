#include "planner/in_force.h"

#include "base/environment.h"
#include "planner/calibration.h"
#include "planner/measured_selection.h"
#include "schedule/relabelled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <string_view>
#include <vector>

namespace lockstep {

namespace {

/// A model that predicts worse than this what it has not seen chooses worse than the built-in selection.
constexpr double kMostTrustedError = 0.10;

void take_over(const Selection& measured, int ranks, SelectionInForce& result) {
  if (measured.collectives().empty()) return;
  std::vector<std::string_view> names;
  for (const Collective collective : measured.collectives()) names.push_back(to_string(collective));
  result.selection.override_with(measured);
  result.source += fmt::format("; {} as measured here on {} ranks", fmt::join(names, " and "), ranks);
}

}  // namespace

SelectionInForce selection_in_force(int ranks, Medium medium, const std::vector<int>& hosts) {
  SelectionInForce result{built_in_selection(ranks, medium, hosts), "built in"};
  const bool one_host = ranks_of_hosts(hosts).size() < 2;
  try {
    const auto calibration =
        medium == Medium::kSharedMemory && one_host ? stored_calibration(this_machine()) : std::nullopt;
    if (calibration) {
      const bool is_trusted = calibration->held_back.median <= kMostTrustedError;
      if (is_trusted && has_selection(*calibration, ranks)) {
        result = {stored_selection(*calibration, ranks), "calibrated here"};
      } else if (!is_trusted) {
        result.source += fmt::format(", since the calibration here is {:.0f} % wrong in the median, more than {:.0f} %",
                                     100 * calibration->held_back.median, 100 * kMostTrustedError);
      }
      take_over(measured_selection(*calibration, ranks), ranks, result);
    }
  } catch (const Error& error) {
    // No job fails, and no calibration either, because of what an older version or a full disk left in a cache.
    result.source += fmt::format(", since {}", error.what());
  }
  if (const auto text = environment(kAlgorithmsVariable)) {
    result.selection.override_with(Selection::parse(*text, kAlgorithmsVariable));
    result.source += std::string(", then ") + kAlgorithmsVariable;
  }
  return result;
}

}  // namespace lockstep
