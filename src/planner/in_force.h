#pragma once

#include "planner/selection.h"

#include <string>
#include <vector>

namespace lockstep {

/// The selection that "auto" follows, and where it is from, in words: "built in", "calibrated here",
/// "calibrated here, then LOCKSTEP_ALGORITHMS".
struct SelectionInForce {
  Selection selection;
  std::string source;
};

/// For a group of so many ranks, on these hosts (empty: on one): what is built in or, for shared memory of one host,
/// what this machine's calibration predicts (if it has one that can be read and trusted; the source says why not) and,
/// of so many ranks exactly, what it measured; then what LOCKSTEP_ALGORITHMS says of the collectives that it names.
/// Throws Error (kInvalidArgument) for that text. Ranks of one host come to the same; ranks of several may not.
SelectionInForce selection_in_force(int ranks, Medium medium = Medium::kSharedMemory,
                                    const std::vector<int>& hosts = {});

}  // namespace lockstep
