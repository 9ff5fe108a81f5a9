#pragma once

#include "schedule/refusal.h"
#include "schedule/schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Up to here a proof lists the orders of summation, which are as long as there are ranks.
inline constexpr int kMostRanksInOrders = 64;

/// The order in which contributions are summed: "((0+1)+2)" has rank 0's and 1's combined, then rank 2's added; of the
/// two operands of a sum, the one with the lower rank is written first. There is one for each chunk, the same for all
/// ranks.
struct SumOrder {
  std::string expression;
  std::vector<int> chunks;  ///< that are summed so
};

/// What prove() found.
struct Proof {
  std::optional<Refusal> refusal;  ///< none: proved
  std::vector<SumOrder> orders;    ///< of a proved reduction of at most kMostRanksInOrders ranks, by their first chunk
  /// Proved, and every chunk is summed along the binary tree over all ranks that schedule.h describes,
  /// (((0+1)+(2+3))+4), or not summed at all: so all schedules of which this holds give the same bits.
  bool canonical = false;
  /// And no sum is ever added to another, so that a 16-bit float is rounded once, where all contributions meet.
  bool canonical_in_16_bits = false;

  bool proved() const { return !refusal.has_value(); }
};

/// Executes the whole schedule (not one rank's view) on symbols, and says whether it may run:
///   - ranks, chunks and root are in range, and within the bounds of ranges.h;
///   - transfers of a step are independent, as schedule.h defines it;
///   - nobody sends what it does not hold; no contribution is counted twice (but by a barrier, which sums nothing);
///   - a copy carries a complete chunk to a rank where it is not complete, a reduce a partial sum: so a chunk is never
///     written once it is complete (but in a barrier), and a view alone tells which reduce finishes it (finishing_steps
///     in view.h);
///   - every rank ends with each contribution exactly once, where the collective promises it the chunk; of a barrier,
///     every rank has heard from every other;
///   - ranks that each make the same sum make it in the same order, and store the same parts of it, so that all of them
///     end with the same bits, of 16-bit floats too, which are rounded where they are stored;
///   - what the ranks post, each its own part, meets, and nobody waits for ever when each send waits for its receive.
/// The last holds by construction: both halves of a transfer come from the one list, every rank posts them in the order
/// of its steps, and whatever waits belongs to the earliest step that is not over, all of which its ranks come to post.
/// It is run all the same, so that what derives the halves is not taken on trust; it refuses parts that do not fit each
/// other (rendezvous.h), of which no schedule can be made.
/// No bytes move; the work grows with the transfers, and with the size of the sets of ranks that they carry. Memory
/// grows with the transfers alone: a rank takes none for a step in which it rests.
Proof prove(const Schedule& schedule);

/// Throws Error (kRefused) naming the schedule, rank, chunk, step and reason, unless it is proved.
void require_proved(const Schedule& schedule);

}  // namespace lockstep
