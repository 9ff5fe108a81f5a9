#pragma once

#include <lockstep/types.h>

#include <cstddef>

namespace lockstep::kernels {

/// target[i] = target[i] op sources[0][i] op sources[1][i] ..., in that order, for `count` elements, then divided by
/// `divide_by` where it is not 1 (a mean is a sum divided by the ranks; integers round toward zero). kMean combines as
/// kSum. bfloat16 and float16 are widened to float32, combined and divided there and rounded once, to nearest even.
/// No pointer needs an alignment beyond its element's. The sources may not overlap the target.
///
/// The bits depend on the values and their order only, so that every rank and machine gets the same: integers wrap
/// around; a NaN among the operands gives a NaN (in min and max too), and every NaN that comes out is the positive
/// quiet one without a payload; -0 is less than +0 in min and max.
struct ReduceArguments {
  void* target;
  const void* const* sources;
  std::size_t source_count;
  std::size_t count;
  DataType dtype;
  ReduceOp op;
  int divide_by = 1;
};

/// Vectorised for this machine, one pass over memory: each element of the target is read and written once, each of a
/// source read once.
void reduce(const ReduceArguments& arguments);

/// The same, one element at a time and plainly right: what `reduce` is tested against, bit for bit.
void reduce_scalar(const ReduceArguments& arguments);

}  // namespace lockstep::kernels
