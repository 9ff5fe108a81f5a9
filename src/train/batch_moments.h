#pragma once

#include <lockstep/group.h>
#include <torch/types.h>

namespace lockstep {

/// Mean and variance of each channel over the global batch, in double, the same to the bit on all ranks.
struct BatchMoments {
  torch::Tensor mean;      ///< [C]
  torch::Tensor variance;  ///< [C], divided by the count
  double count = 0;        ///< values a channel
};

/// Of [N, C, ...], all ranks' together. A rank to which the loader gave no samples counts nothing. Collective and
/// blocking. Throws Error (kInvalidArgument) on all ranks if there is one value a channel, or none.
BatchMoments moments_of_all(const torch::Tensor& input, const Group& group);

/// [C] shaped so that it meets the channels of `like`, [N, C, ...].
torch::Tensor along_channels(const torch::Tensor& values, const torch::Tensor& like);
/// [N, C, ...] -> [C].
torch::Tensor sum_by_channel(const torch::Tensor& values);

}  // namespace lockstep
