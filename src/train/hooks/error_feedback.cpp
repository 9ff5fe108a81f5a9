#include <fmt/format.h>

#include <map>

#include "train/hooks/hook_base.h"
#include "train/non_finite.h"

namespace lockstep {
namespace {

class ErrorFeedback : public BucketHook {
 public:
  explicit ErrorFeedback(BucketHookPtr inner) : inner_(std::move(inner)) {}

  Pending reduce(const GradientBucket& bucket, torch::Tensor*) override {
    Kept& kept = kept_[bucket.index];
    own_.time([&] {
      if (!kept.error.defined() || kept.parameters != bucket.parameters) {
        kept = {bucket.parameters, torch::zeros_like(bucket.flat), {}, {}};
      }
      kept.wanted = bucket.flat.add_(kept.error).clone();
    });
    return finish_with(inner_->reduce(bucket, &kept.sent), own_.timed([&kept] {
      kept.error = kept.wanted - kept.sent;
      forget_non_finite(kept.error);
      kept.wanted = kept.sent = torch::Tensor();
    }));
  }
  bool exact() const override { return inner_->exact(); }
  std::string name() const override { return fmt::format("error_feedback({})", inner_->name()); }
  HookTraffic traffic() const override {
    HookTraffic traffic = inner_->traffic();
    traffic.hook_seconds += own_.traffic().hook_seconds;
    return traffic;
  }

 private:
  /// Of a bucket.
  struct Kept {
    std::vector<std::string> parameters;
    torch::Tensor error;   // what earlier iterations wanted to send and did not
    torch::Tensor wanted;  // while a reduction is under way
    torch::Tensor sent;
  };
  BucketHookPtr inner_;
  TrafficCount own_{1};       // of the time
  std::map<int, Kept> kept_;  // a map, whose elements stay where they are
};

}  // namespace

BucketHookPtr error_feedback(BucketHookPtr inner) { return std::make_shared<ErrorFeedback>(std::move(inner)); }

}  // namespace lockstep
