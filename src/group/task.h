#pragma once

#include "group/identity.h"
#include "runtime/point_to_point.h"

#include <lockstep/error.h>
#include <lockstep/group.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lockstep::detail {

class Engine;

/// What a member of Group asks for.
struct Task {
  Collective collective = Collective::kBarrier;
  Buffer buffer;                ///< where the result goes and, in place, what goes in
  const void* input = nullptr;  ///< what goes in, where it is not `buffer`: as large
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  /// Elements of each rank's block, in an all_to_all of each pair's, by sender and receiver; none where all blocks are
  /// of one size. An empty list is a list, and a wrong one. The caller's, as long as the call.
  std::optional<std::span<const std::size_t>> block_counts;
  /// It is a part of Group::split(), which no gathering of a caller's must meet.
  bool splits = false;

  /// Whether what goes in and what comes out are of different sizes, and of different ones on different ranks.
  bool has_pair_counts() const { return collective == Collective::kAllToAll && block_counts.has_value(); }
  /// `block_counts` as plans take them: empty where there are none.
  std::span<const std::size_t> counts() const { return block_counts.value_or(std::span<const std::size_t>()); }
  std::vector<std::size_t> counts_of_blocks() const { return {counts().begin(), counts().end()}; }
  /// Of a rank's buffer, the same on all ranks, so that all choose the same algorithm by it: the mean where they
  /// differ.
  std::size_t common_bytes() const;
  const void* input_data() const { return input != nullptr ? input : buffer.data; }
};

/// Where the block lies that a rank sends to itself in an all_to_all, in bytes.
struct OwnBlock {
  std::size_t input_offset = 0;
  std::size_t output_offset = 0;
  std::size_t bytes = 0;
};
/// Of no bytes in another collective.
OwnBlock own_block(const Task& task, int rank, int size);

/// Whether the collective, the data type and the operator are among those that there are.
inline bool has_names(const Task& task) {
  return task.collective <= Collective::kBarrier && size_of(task.buffer.dtype) != 0 && task.op <= ReduceOp::kProduct;
}
/// Throws Error (kInvalidArgument) that says which of them is not.
[[noreturn]] void refuse_names(const Task& task, int rank);
/// The same of the options of an operation.
inline bool make_sense(const OperationOptions& options) {
  return options.timeout.count() >= 0 && options.reduction <= Reduction::kCanonical;
}
[[noreturn]] void refuse_options(const OperationOptions& options, std::string_view operation, int rank);
/// Throws `error` on, and says whose it is and of which operation where it does not: as of an algorithm's name.
[[noreturn]] void throw_of(const Task& task, int rank, const Error& error);
/// Throws Error (kInvalidArgument) unless this rank's group can do it over that engine.
void validate(const Task& task, const Identity& identity, const Engine& engine);
void validate(const PointToPoint::Message& message, const Identity& identity, const Engine& engine);

}  // namespace lockstep::detail
