#pragma once

#include <lockstep/types.h>

#include <cstddef>

namespace lockstep::kernels {

/// target[i] = operands[0][i] op operands[1][i] op ..., for `count` elements and for each of the targets, which all get
/// the same bytes. The operands are combined along the binary tree over their indices: pairs, then pairs of pairs; five
/// as
/// (((0+1)+(2+3))+4). The result is then divided by `divide_by` where that is not 1 (a mean is a sum divided by the
/// ranks; integers round toward zero). kMean combines as kSum. bfloat16 and float16 are widened to float32, combined
/// and divided there and rounded once, to nearest even. One operand that is not divided is copied as it is.
///
/// No pointer needs an alignment beyond its element's. A target may be the very pointer of an operand; otherwise it may
/// overlap neither an operand nor another target.
///
/// The bits depend on the values and their order only, so that every rank and machine gets the same, and, on x86, every
/// thread, whatever rounding, flushing to zero or subnormals as zero it has set (float_mode.h): integers wrap around; a
/// NaN among the operands gives a NaN (in min and max too), and every NaN that comes out is the positive quiet one
/// without a payload; -0 is less than +0 in min and max.
struct ReduceArguments {
  void* const* targets;
  std::size_t target_count;  ///< at least 1
  const void* const* operands;
  std::size_t operand_count;  ///< at least 1
  std::size_t count;          ///< elements of a target and of an operand
  DataType dtype;
  ReduceOp op;
  int divide_by = 1;  ///< at least 1
  /// So many of the first targets are written past the caches, where the instruction set can and the target has the
  /// alignment of the first: what nobody reads soon, or not here. They are visible to whoever sees what this thread
  /// writes next.
  std::size_t streamed_targets = 0;
  /// The targets that are not streamed are asked for, to be written, some lines ahead: other cores hold copies of them,
  /// and a store alone would ask for one after the other.
  bool asks_early = false;
  /// A copy that is made in the same pass, of as many elements. Its target may be the very pointer of an operand, of
  /// which each element is read before; otherwise it overlaps nothing here. Null: none.
  void* copy_target = nullptr;
  const void* copy_source = nullptr;
};

/// Vectorised for this machine, one pass over memory: each element of an operand is read once, each of a target written
/// once.
void reduce(const ReduceArguments& arguments);

/// The same, one element at a time and plainly right: what `reduce` is tested against, bit for bit.
void reduce_scalar(const ReduceArguments& arguments);

}  // namespace lockstep::kernels
