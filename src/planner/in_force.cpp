#include "planner/in_force.h"

#include "base/environment.h"
#include "planner/calibration.h"

#include <fmt/format.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

/// A model that predicts worse than this what it has not seen chooses worse than the built-in selection.
constexpr double kMostTrustedError = 0.10;

}  // namespace

SelectionInForce selection_in_force(int ranks, Medium medium) {
  SelectionInForce result{built_in_selection(ranks, medium), "built in"};
  try {
    const auto calibration = medium == Medium::kSharedMemory ? stored_calibration(this_machine()) : std::nullopt;
    if (calibration) {
      if (calibration->held_back.median <= kMostTrustedError) {
        result = {selection_by(*calibration, ranks), "calibrated here"};
      } else {
        result.source += fmt::format(", since the calibration here is {:.0f} % wrong in the median, more than {:.0f} %",
                                     100 * calibration->held_back.median, 100 * kMostTrustedError);
      }
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
