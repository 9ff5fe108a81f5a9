#pragma once

#include <lockstep/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

enum class TransferKind : std::uint8_t { kCopy, kReduce };

/// One movement of one chunk: `to`'s chunk becomes `from`'s (copy), or has `from`'s combined into it (reduce).
struct Transfer {
  TransferKind kind;
  int chunk;
  int from;
  int to;

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// Transfers that may all be in flight at once: each reads its source as it was when the step began. A chunk of a rank
/// takes either one copy or any number of reduces in a step. One that takes a copy is not read in that step; one that
/// is reduced into may be: two ranks may exchange their sums.
///
/// The order of a sum: what is reduced into a chunk in one step, and what the chunk held, is combined at once, along
/// the binary tree over the ranks that these values come from, in ascending order (the chunk's own at its own rank's
/// place): pairs of neighbours, then pairs of pairs; who has no partner waits for the next round. So five ranks that
/// send to each other all have (((0+1)+(2+3))+4). The order in which a step lists its transfers means nothing. The sum
/// of two values does not depend on which of them comes first.
using Step = std::vector<Transfer>;

/// A collective as a value: what moves, in which order, for `ranks` ranks and a buffer cut into `chunks` chunks.
///
/// Whose the chunks are: chunk i of reduce_scatter, all_gather, gather and scatter belongs to rank i * ranks / chunks,
/// so `chunks` is a multiple of `ranks` there. In an all_to_all it is a multiple of ranks * ranks: what rank s has for
/// rank d is block s * ranks + d, of one chunk or more that follow each other. Broadcast and scatter start at `root`,
/// reduce and gather end there; elsewhere `root` is 0. A barrier is an all_reduce of nothing: whoever has heard from
/// everybody may leave. promise.h says it chunk by chunk.
struct Schedule {
  std::string name;  ///< the algorithm's
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int chunks = 1;
  int root = 0;
  std::vector<Step> steps;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// In all steps.
inline std::int64_t transfers_of(const Schedule& schedule) {
  std::int64_t transfers = 0;
  for (const Step& step : schedule.steps) transfers += static_cast<std::int64_t>(step.size());
  return transfers;
}

/// The rank to which a chunk of a reduce_scatter, all_gather, gather or scatter belongs; in an all_to_all the one that
/// sends it.
inline int owner_of(const Schedule& schedule, int chunk) {
  return static_cast<int>(static_cast<std::int64_t>(chunk) * schedule.ranks / schedule.chunks);
}

/// The rank that a chunk of an all_to_all is for.
inline int destination_of(const Schedule& schedule, int chunk) {
  const auto ranks = static_cast<std::int64_t>(schedule.ranks);
  return static_cast<int>(chunk * ranks * ranks / schedule.chunks % ranks);
}

}  // namespace lockstep
