// Deep Gradient Compression: momentum that knows what has been sent.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "train/gradient_norm.h"
#include "train/hooks/sparse.h"
#include "train/non_finite.h"

namespace lockstep {
namespace {

class DeepGradient : public SparseHook {
 public:
  DeepGradient(const Group& group, const DeepGradientOptions& options)
      : SparseHook(group), options_(options), iteration_(options.done) {}
  std::string name() const override {
    return fmt::format("deep_gradient({}, momentum {})", options_.fraction, options_.momentum);
  }

 protected:
  Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) override {
    if (contribution) {
      throw Error(ErrorCode::kInvalidArgument,
                  "error_feedback(deep_gradient): deep_gradient_hook itself keeps what it did not send; use it alone.");
    }
    if (bucket.index == 0) {
      ++iteration_;
      squares_ = 0;
    }
    if (options_.clip_norm == 0) return send(bucket, 1);
    squares_ += sum_of_squares(bucket.flat);
    // The norm is known when all buckets are.
    return continue_with(Pending(), count_.timed([this, bucket] {
      const double most = options_.clip_norm / std::sqrt(group_.size());
      const double norm = std::sqrt(squares_);
      return send(bucket, norm > most && std::isfinite(norm) ? most / norm : 1);
    }));
  }

  Pending pass_on(const GradientBucket& bucket, torch::Tensor*) override {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("deep_gradient_hook: bucket {} holds {}, and what stands for momentum must have float32.",
                            bucket.index, c10::toString(bucket.flat.scalar_type())));
  }

 private:
  /// Of a bucket, on this rank.
  struct Kept {
    std::vector<std::string> parameters;
    torch::Tensor velocity;
    torch::Tensor unsent;
  };

  Pending send(const GradientBucket& bucket, double factor) {
    Kept& kept = kept_[bucket.index];
    if (!kept.unsent.defined() || kept.parameters != bucket.parameters) {
      kept = {bucket.parameters, torch::zeros_like(bucket.flat), torch::zeros_like(bucket.flat)};
    }
    kept.velocity.mul_(options_.momentum).add_(bucket.flat, factor);
    kept.unsent.add_(kept.velocity);
    const auto places = places_of_largest(kept.unsent, count_of(fraction_now(), kept.unsent.numel()));
    const auto values = kept.unsent.index_select(0, places);
    kept.unsent.index_fill_(0, places, 0);
    kept.velocity.index_fill_(0, places, 0);
    forget_non_finite(kept.velocity);
    forget_non_finite(kept.unsent);
    return mean_of(bucket, values, places);
  }

  /// In the warm-up 1/4, 1/16, ..., each for as many iterations.
  double fraction_now() const {
    if (iteration_ > options_.warmup) return options_.fraction;
    const auto stages = std::ceil(std::log(options_.fraction) / std::log(0.25) - 1e-9);
    const auto stage = std::floor(static_cast<double>(iteration_ - 1) * stages / static_cast<double>(options_.warmup));
    return std::max(options_.fraction, std::pow(0.25, stage + 1));
  }

  DeepGradientOptions options_;
  std::int64_t iteration_;
  double squares_ = 0;  // of this iteration's gradients
  std::map<int, Kept> kept_;
};

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, "deep_gradient_hook: " + what);
}

}  // namespace

BucketHookPtr deep_gradient_hook(const Group& group, DeepGradientOptions options) {
  require_fraction(options.fraction, "deep_gradient_hook");
  require(options.momentum >= 0 && options.momentum < 1,
          fmt::format("the momentum is {}; it must be 0 or more and below 1.", options.momentum));
  require(options.warmup >= 0, fmt::format("a warm-up of {} iterations; it must be 0 or more.", options.warmup));
  require(options.done >= 0, fmt::format("{} iterations are done; it must be 0 or more.", options.done));
  require(options.clip_norm >= 0 && std::isfinite(options.clip_norm),
          fmt::format("clip_norm is {}; it must be positive, or 0 for none.", options.clip_norm));
  return std::make_shared<DeepGradient>(group, options);
}

}  // namespace lockstep
