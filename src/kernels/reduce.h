#pragma once

#include <lockstep/types.h>

#include <cstddef>

namespace lockstep::kernels {

/// target[i] = target[i] op sources[0][i] op sources[1][i] ..., in that order, for `count` elements, then divided by
/// `divide_by` where it is not 1 (a mean is a sum divided by the ranks; integers round toward zero). kMean combines as
/// kSum. bfloat16 and float16 are widened to float32, combined and divided there and rounded once, to nearest even.
/// No pointer needs an alignment beyond its element's. The sources may not overlap the target.
struct ReduceArguments {
  void* target;
  const void* const* sources;
  std::size_t source_count;
  std::size_t count;
  DataType dtype;
  ReduceOp op;
  int divide_by = 1;
};

/// Vectorised for this machine.
void reduce(const ReduceArguments& arguments);

/// The same, one element at a time and plainly right: what `reduce` is tested against, bit for bit.
void reduce_scalar(const ReduceArguments& arguments);

}  // namespace lockstep::kernels
