#pragma once

#include "schedule/schedule.h"

#include <optional>
#include <vector>

namespace lockstep {

/// What one rank does: for each step, in the schedule's order, the transfers that it sends and those that it receives.
/// A rank posts all of a step, then waits for all of it.
struct RankView {
  struct Step {
    std::vector<Transfer> sends;
    std::vector<Transfer> receives;

    friend bool operator==(const Step&, const Step&) = default;
  };

  int rank = 0;
  int ranks = 1;
  int chunks = 1;
  std::vector<Step> steps;  ///< as many as the schedule has; a step in which this rank rests is empty

  friend bool operator==(const RankView&, const RankView&) = default;
};

/// Derived from the list of transfers, which may be a whole schedule or one built for `rank` only: both give the same.
/// Throws Error (kInvalidArgument) if the schedule has no such rank.
RankView view_of(const Schedule& schedule, int rank);

/// The views of all ranks, in one pass over a whole schedule whose ranks are in range.
std::vector<RankView> views_of(const Schedule& schedule);

/// The first step in which what `a` sends to `b`, or `b` to `a`, is not exactly what the other receives; none if they
/// agree (both number their steps alike, and each transfer between them is in both views, in the same step and order).
std::optional<int> first_disagreement(const RankView& a, const RankView& b);

/// For each chunk, the step whose reduces finish it at this rank; -1 where no reduce does. Whoever finishes a chunk
/// applies what follows the sum (a mean's division); everybody else gets it by copy, finished.
///
/// This is read from the view alone: in a proved schedule, a chunk whose last write here is a reduce is finished by
/// it, unless it is sent on as a reduce in a later step, which says that it was a partial sum (`prove` refuses a copy
/// of a partial sum). What is sent in the same step is what was there before.
std::vector<int> finishing_steps(const RankView& view);

}  // namespace lockstep
