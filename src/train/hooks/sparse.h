#pragma once

#include <string>

#include "train/hooks/hook_base.h"

namespace lockstep {

/// A hook that sends some of the values, with their places: [values, places] in 32-bit words.
class SparseHook : public CompressingHook {
 protected:
  using CompressingHook::CompressingHook;

  /// The mean over ranks into bucket.flat. All ranks give equally many places.
  Pending mean_of(const GradientBucket& bucket, const torch::Tensor& values, const torch::Tensor& places);
  /// Each rank gives as many as it likes.
  Pending mean_of_uneven(const GradientBucket& bucket, const torch::Tensor& values, const torch::Tensor& places);
};

/// How many of so many values a fraction is, at least one.
std::int64_t count_of(double fraction, std::int64_t values);
/// Where the `count` values of largest magnitude are.
torch::Tensor places_of_largest(const torch::Tensor& flat, std::int64_t count);

}  // namespace lockstep
