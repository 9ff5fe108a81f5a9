#pragma once

#include "kernels/copy.h"
#include "kernels/reduce.h"
#include "runtime/plan.h"
#include "runtime/write_policy.h"

#include <cstddef>
#include <vector>

namespace lockstep {

/// A copy in the same pass as a move, to where an operand of it lies.
struct CopyBeside {
  void* target = nullptr;  ///< null: none
  const void* source = nullptr;
};

/// Carries out the moves of plans: knows what is combined and how, and keeps its lists from move to move.
class MoveRunner {
 public:
  MoveRunner(DataType dtype, ReduceOp op, int ranks) : dtype_(dtype), op_(op), ranks_(ranks) {}

  /// One pass over `count` elements, which lie where `address_of(place)` says.
  template <class AddressOf>
  void run(const Plan::Move& move, std::size_t count, const WritePolicy::Writes& writes, const AddressOf& address_of,
           const CopyBeside& beside = {}) {
    operands_.clear();
    for (const Plan::Place& place : move.operands) operands_.push_back(address_of(place));
    targets_.clear();
    for (const Plan::Place& place : move.targets) targets_.push_back(address_of(place));
    if (operands_.size() == 1 && targets_.size() == 1 && beside.target == nullptr) {
      kernels::copy(targets_.front(), operands_.front(), count * size_of(dtype_), writes.past_caches > 0);
      return;
    }
    const bool divides = move.finishes && op_ == ReduceOp::kMean;
    kernels::reduce({.targets = targets_.data(),
                     .target_count = targets_.size(),
                     .operands = operands_.data(),
                     .operand_count = operands_.size(),
                     .count = count,
                     .dtype = dtype_,
                     .op = op_,
                     .divide_by = divides ? ranks_ : 1,
                     .streamed_targets = writes.past_caches,
                     .asks_early = writes.asks_early,
                     .copy_target = beside.target,
                     .copy_source = beside.source});
  }

 private:
  DataType dtype_;
  ReduceOp op_;
  int ranks_;
  std::vector<const void*> operands_;
  std::vector<void*> targets_;
};

}  // namespace lockstep
