// Values above a threshold, which is given or fitted to the gradients.
#include <fmt/format.h>

#include <cmath>

#include "train/hooks/sparse.h"

namespace lockstep {
namespace {

/// What about a `fraction` of `flat` exceeds in magnitude (SIDCo, with exponential tails). Magnitudes above a threshold
/// are, less the threshold, nearly exponential, so their mean says which share exceeds what. A quarter of them is left
/// to the next fit, which goes by how many there really are, so that errors do not add up.
double fitted_threshold(const torch::Tensor& flat, double fraction) {
  constexpr double kLeftToNextFit = 0.25;
  const auto wanted = static_cast<double>(count_of(fraction, flat.numel()));
  auto magnitudes = flat.abs();
  magnitudes = magnitudes.masked_select(magnitudes > 0);  // gaps, and what got no gradient, are no part of the tail
  double threshold = 0;
  while (static_cast<double>(magnitudes.numel()) > wanted) {
    const double share = std::max(wanted / static_cast<double>(magnitudes.numel()), kLeftToNextFit);
    const double further = (magnitudes - threshold).mean().item<double>() * std::log(1 / share);
    if (further <= 0 || !std::isfinite(further)) break;  // all alike: no tail
    threshold += further;
    if (share > kLeftToNextFit) break;
    magnitudes = magnitudes.masked_select(magnitudes > threshold);
  }
  return threshold;
}

class Threshold : public SparseHook {
 public:
  using SparseHook::SparseHook;

 protected:
  virtual double threshold_for(const torch::Tensor& flat) const = 0;

  Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) final {
    const auto magnitudes = bucket.flat.abs();
    // What is zero need not be sent, whatever the threshold; what is no number is neither zero nor below it.
    const auto sent = magnitudes.lt(threshold_for(bucket.flat)).logical_or_(magnitudes.eq(0)).logical_not_();
    const auto places = sent.nonzero().flatten();
    const auto values = bucket.flat.index_select(0, places);
    if (contribution) *contribution = bucket.flat * sent;
    return mean_of_uneven(bucket, values, places);
  }
};

class FixedThreshold final : public Threshold {
 public:
  FixedThreshold(const Group& group, double threshold) : Threshold(group), threshold_(threshold) {}
  std::string name() const override { return fmt::format("threshold({})", threshold_); }

 protected:
  double threshold_for(const torch::Tensor&) const override { return threshold_; }

 private:
  double threshold_;
};

class AdaptiveThreshold final : public Threshold {
 public:
  AdaptiveThreshold(const Group& group, double fraction) : Threshold(group), fraction_(fraction) {}
  std::string name() const override { return fmt::format("adaptive_threshold({})", fraction_); }

 protected:
  double threshold_for(const torch::Tensor& flat) const override { return fitted_threshold(flat, fraction_); }

 private:
  double fraction_;
};

}  // namespace

BucketHookPtr threshold_hook(const Group& group, double threshold) {
  if (!(threshold >= 0) || std::isinf(threshold)) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("threshold_hook({}): the threshold must be 0 or more, and finite.", threshold));
  }
  return std::make_shared<FixedThreshold>(group, threshold);
}

BucketHookPtr adaptive_threshold_hook(const Group& group, double fraction) {
  require_fraction(fraction, "adaptive_threshold_hook");
  return std::make_shared<AdaptiveThreshold>(group, fraction);
}

}  // namespace lockstep
