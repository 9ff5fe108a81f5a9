#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/mixed_precision.h>

#include <cmath>

#include "train/non_finite.h"

namespace lockstep {

LossScaler::LossScaler(LossScalerOptions options) : options_(options), scale_(options.scale) {
  const bool settles = std::isfinite(options.scale) && options.scale > 0 && options.growth >= 1 &&
                       options.growth_interval >= 1 && options.backoff > 0 && options.backoff < 1;
  if (settles) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("LossScaler with scale {}, growth {} after {} updates, backoff {}: the scale must be positive, "
                  "growth at least 1 after at least 1 update, and backoff between 0 and 1.",
                  options.scale, options.growth, options.growth_interval, options.backoff));
}

bool LossScaler::unscale(torch::optim::Optimizer& optimizer) {
  if (unscaled_) return finite_;
  torch::NoGradGuard no_grad;
  bool any = false;
  finite_ = true;
  for (const auto& group : optimizer.param_groups()) {
    for (const auto& parameter : group.params()) {
      if (!parameter.grad().defined()) continue;
      any = true;
      // Of a sparse one, what an update will take: values of the same place are added first.
      const auto gradient = parameter.grad().is_sparse() ? parameter.grad().coalesce() : parameter.grad();
      finite_ = finite_ && !has_non_finite(gradient.is_sparse() ? gradient.values() : gradient);
      if (!finite_) continue;
      parameter.mutable_grad() = gradient;
      gradient.mul_(1 / scale_);
    }
  }
  finite_ = finite_ && any;
  unscaled_ = true;
  return finite_;
}

bool LossScaler::step(torch::optim::Optimizer& optimizer) {
  const bool finite = unscale(optimizer);
  unscaled_ = false;
  if (!finite) {
    scale_ *= options_.backoff;
    good_updates_ = 0;
    ++skipped_;
    return false;
  }
  optimizer.step();
  if (++good_updates_ == options_.growth_interval) {
    scale_ *= options_.growth;
    good_updates_ = 0;
  }
  return true;
}

}  // namespace lockstep
