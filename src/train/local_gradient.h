#pragma once

#include <lockstep/group.h>
#include <torch/types.h>

#include <string>
#include <vector>

#include "train/layout.h"
#include "train/module_tensors.h"

namespace lockstep {

/// Throws Error (kUnsupported): its gradient came again within one backward, after it may have been sent.
[[noreturn]] void refuse_second_gradient(const std::string& parameter, int rank, const char* owner);

/// Those of a module's tensors that are trained, each once. Throws Error (kInvalidArgument) if there are none and
/// (kUnsupported) for one that collectives do not take; `owner` ("DataParallel") is who says so.
std::vector<ModuleTensor> trainable_of(std::vector<ModuleTensor> tensors, const std::string& owner);

/// Who asks for what gradient: for the sentences of errors.
struct GradientOf {
  const std::string& parameter;
  torch::ScalarType type;  ///< that the parameter had when `owner` was made
  int rank = 0;
  const char* owner = "";
};

/// What is to be accumulated instead of `gradient` where it counts `factor` times; undefined for "as it is". Throws
/// Error for a sparse gradient (kUnsupported) and one of another type (kInvalidArgument).
torch::Tensor weighted(const torch::Tensor& gradient, double factor, const GradientOf& whose);

/// Values that count `factor` times. Those that do not count are 0, though a rank without samples may have computed
/// infinities, or what is not a number.
torch::Tensor counting(const torch::Tensor& values, double factor);

/// Whether a gradient, dense or sparse, is defined and has any value but zero: zero_grad() leaves either.
bool is_not_zero(const torch::Tensor& gradient);

/// What the layout of buckets needs to know of them.
std::vector<GradientSize> sizes_of(const std::vector<ModuleTensor>& parameters);
/// Indices in the order in which gradients are expected: those registered last come first.
std::vector<std::size_t> last_first(std::size_t count);
/// Rank 0's order of something, on every rank. Collective.
std::vector<std::size_t> order_of_rank_zero(const Group& group, const std::vector<std::size_t>& own);

/// DataParallel::samples: this rank's next backward is a mean over `count` samples. Collective.
void agree_on_samples(const Group& group, std::int64_t count);

}  // namespace lockstep
