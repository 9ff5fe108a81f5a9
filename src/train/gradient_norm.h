#pragma once

#include <lockstep/group.h>
#include <torch/types.h>

#include <vector>

namespace lockstep {

/// In double, in which a float32's square is exact: so the order of the sum does not show in a float32 made from it.
double sum_of_squares(const torch::Tensor& values);

/// The 2-norm of the gradients of all `parameters` together, in double: the same bits on all ranks. Ranks hold the same
/// gradients, and each reads only its share of the elements. Undefined ones count as zero. Collective and blocking.
double gradient_norm(const Group& group, const std::vector<torch::Tensor>& parameters);

/// Throws Error (kInvalidArgument) unless it is above 0.
void require_norm(double max_norm);
/// Scales the gradients of `parameters`, of norm `norm`, so that it is `max_norm`, unless it is less or no number.
void clip(const std::vector<torch::Tensor>& parameters, double norm, double max_norm);

}  // namespace lockstep
