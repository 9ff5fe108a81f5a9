#include "planner/in_force.h"

#include "base/environment.h"
#include "planner/calibration.h"

#include <fmt/format.h>
#include <lockstep/error.h>

namespace lockstep {

SelectionInForce selection_in_force(int ranks) {
  SelectionInForce result{built_in_selection(ranks), "built in"};
  try {
    if (const auto calibration = stored_calibration(this_machine())) {
      result = {selection_by(*calibration, ranks), "calibrated here"};
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
