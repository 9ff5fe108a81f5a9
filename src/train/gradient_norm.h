#pragma once

#include <lockstep/group.h>
#include <torch/types.h>

#include <vector>

namespace lockstep {

/// The 2-norm of the gradients of all `parameters` together, in double: the same bits on all ranks. Ranks hold the same
/// gradients, and each reads only its share of the elements. Undefined ones count as zero. Collective and blocking.
double gradient_norm(const Group& group, const std::vector<torch::Tensor>& parameters);

}  // namespace lockstep
