#pragma once

#include "schedule/schedule.h"

#include <vector>

namespace lockstep {

/// One rank's view of a schedule, made ready to run where ranks read each other's memory: each transfer is carried out
/// by the rank that it ends on. What has to be waited for is derived from the schedule:
///   - before a chunk is read, its rank must have finished the steps before this one;
///   - before a chunk is written, whoever reads its old value must have finished the step in which it does;
///   - before the operation ends here, whoever reads from here must have done so.
struct Plan {
  /// Until `peer` has finished the first `steps` steps.
  struct Wait {
    int peer;
    int steps;
  };
  /// What one chunk takes in in one step: a copy from one rank, or a reduction of several in the order listed.
  struct Move {
    TransferKind kind;
    int chunk;
    std::vector<int> sources;
    bool completes;  ///< a reduction after which the chunk is what the collective promises: a mean divides here
  };
  struct Step {
    int index;  ///< in the schedule
    std::vector<Wait> before;
    std::vector<Move> moves;
  };

  Schedule view;            ///< this rank's
  std::vector<Step> steps;  ///< those in which this rank writes
  std::vector<Wait> after;
  std::vector<int> partners;  ///< every peer that this rank waits for, ascending

  /// The steps this rank has finished once it stands before steps[position].
  int finished_before(std::size_t position) const {
    return position < steps.size() ? steps[position].index : static_cast<int>(view.steps.size());
  }
};

/// `schedule` may be the whole or `rank`'s view; it must have been proved.
Plan make_plan(const Schedule& schedule, int rank);

}  // namespace lockstep
