#pragma once

#include "planner/selection.h"

#include <string>

namespace lockstep {

/// The selection that "auto" follows, and where it is from, in words: "built in", "calibrated here",
/// "calibrated here, then LOCKSTEP_ALGORITHMS".
struct SelectionInForce {
  Selection selection;
  std::string source;
};

/// For a group of so many ranks on this host: what this machine's calibration says (built in where it has none), then
/// what LOCKSTEP_ALGORITHMS says of the collectives that it names. Throws Error: kInvalidArgument for that text,
/// kRefused for a stored calibration that is none. Ranks of one host come to the same; ranks of several may not, so a
/// group takes rank 0's.
SelectionInForce selection_in_force(int ranks);

}  // namespace lockstep
