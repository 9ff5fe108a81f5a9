#include "planner/in_force.h"

#include "base/environment.h"
#include "planner/calibration.h"

namespace lockstep {

SelectionInForce selection_in_force(int ranks) {
  SelectionInForce result{built_in_selection(ranks), "built in"};
  if (const auto calibration = stored_calibration(this_machine())) {
    result = {selection_by(*calibration, ranks), "calibrated here"};
  }
  if (const auto text = environment(kAlgorithmsVariable)) {
    result.selection.override_with(Selection::parse(*text, kAlgorithmsVariable));
    result.source += std::string(", then ") + kAlgorithmsVariable;
  }
  return result;
}

}  // namespace lockstep
