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

/// Transfers that may all be in flight at once. Each reads its source as it was when the step began. A chunk of a rank
/// takes either one copy or any number of reduces in a step (combined in the order listed), and is not read in a step
/// that writes it.
using Step = std::vector<Transfer>;

/// A collective as a value: what moves, in which order, for `ranks` ranks and a buffer cut into `chunks` chunks.
///
/// Where the chunks lie: chunk i of reduce_scatter and all_gather belongs to rank i * ranks / chunks, so `chunks` is a
/// multiple of `ranks` there. A broadcast starts at `root`; elsewhere `root` is 0. A barrier is an all_reduce of
/// nothing: whoever has heard from everybody may leave.
struct Schedule {
  std::string name;  ///< the algorithm's
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int chunks = 1;
  int root = 0;
  std::vector<Step> steps;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The rank that owns a chunk of a reduce_scatter or all_gather.
inline int owner_of(const Schedule& schedule, int chunk) {
  return static_cast<int>(static_cast<std::int64_t>(chunk) * schedule.ranks / schedule.chunks);
}

}  // namespace lockstep
