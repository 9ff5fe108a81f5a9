#pragma once

#include <lockstep/group.h>

#include <vector>

namespace lockstep::detail {

/// What a member of Group asks for.
struct Task {
  Collective collective = Collective::kBarrier;
  Buffer buffer;                ///< where the result goes and, in place, what goes in
  const void* input = nullptr;  ///< what goes in, where it is not `buffer`: as large
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
  std::vector<std::size_t> block_counts;  ///< elements of each rank's block, where they differ

  const void* input_data() const { return input != nullptr ? input : buffer.data; }
};

/// Throws Error (kInvalidArgument) unless a group of `size` ranks can do it, as rank `rank`.
void validate(const Task& task, int rank, int size);

}  // namespace lockstep::detail
