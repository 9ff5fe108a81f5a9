#pragma once

#include "schedule/schedule.h"

#include <string>
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
    bool finishes;  ///< a reduction that finishes the chunk: what follows the sum (a mean's division) is done here
  };
  struct Step {
    int index;  ///< in the schedule
    std::vector<Wait> before;
    std::vector<Move> moves;
  };

  std::string algorithm;
  int chunks = 1;
  int step_count = 0;       ///< of the schedule
  std::vector<Step> steps;  ///< those in which this rank writes
  std::vector<Wait> after;

  /// The steps this rank has finished once it stands before steps[position].
  int finished_before(std::size_t position) const {
    return position < steps.size() ? steps[position].index : step_count;
  }
};

/// `schedule` may be the whole or `rank`'s view; it must have been proved.
Plan make_plan(const Schedule& schedule, int rank);

}  // namespace lockstep
