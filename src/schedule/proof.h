#pragma once

#include "schedule/refusal.h"
#include "schedule/schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Up to here a proof lists the orders of summation, which are as long as there are ranks.
inline constexpr int kMostRanksInOrders = 64;

/// The order in which contributions are summed: "((0+1)+2)" has rank 0's and 1's combined, then rank 2's added.
///
/// There is one for each chunk, the same for all ranks: in a proved reduction one rank finishes the chunk, and
/// everybody else has it by copy, so that all end with the same bits. (Suppose two ranks finish the same chunk. Take
/// the first reduce of all, of s into r. From then on r holds no value without s's contribution, and both sums need
/// r's: so s adds nothing elsewhere, and s itself, which needs r's without its own, finishes nothing. Leave s out, and
/// repeat: one rank is left.)
struct SumOrder {
  std::string expression;
  std::vector<int> chunks;  ///< that are summed so
};

/// What prove() found.
struct Proof {
  std::optional<Refusal> refusal;  ///< none: proved
  std::vector<SumOrder> orders;    ///< of a proved reduction of at most kMostRanksInOrders ranks, by their first chunk

  bool proved() const { return !refusal.has_value(); }
};

/// Executes the whole schedule (not one rank's view) on symbols, and says whether it may run:
///   - ranks, chunks and root are in range, and within the bounds of ranges.h;
///   - transfers of a step are independent, as schedule.h defines it;
///   - nobody sends what it does not hold; no contribution is counted twice;
///   - a copy carries a complete chunk to a rank where it is not complete, a reduce a partial sum: so a chunk is never
///   written
///     once it is complete, and a view alone tells which reduce finishes it (finishing_steps in view.h);
///   - every rank ends with each contribution exactly once, where the collective promises it the chunk;
///   - sends and receives of the ranks' views match, and nobody waits for ever when each send waits for its receive.
/// Linear in the transfers; no bytes move.
Proof prove(const Schedule& schedule);

/// Throws Error (kRefused) naming the schedule, rank, chunk, step and reason, unless it is proved.
void require_proved(const Schedule& schedule);

}  // namespace lockstep
