#include <fmt/format.h>

#include "train/hooks/hook_base.h"

namespace lockstep {
namespace {

class CastHook : public BucketHook {
 public:
  CastHook(torch::ScalarType type, BucketHookPtr next) : type_(type), next_(std::move(next)) {}

  Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) override {
    const auto type = bucket.flat.scalar_type();
    if (torch::elementSize(type) <= torch::elementSize(type_)) {
      const double before = next_->traffic().dense_bytes;
      auto pending = next_->reduce(bucket, contribution);
      dense_bytes_ += next_->traffic().dense_bytes - before;
      return pending;
    }
    GradientBucket narrow = bucket;
    narrow.flat = bucket.flat.to(type_);
    narrow.gradients.clear();  // of the wide bucket
    const double before = next_->traffic().dense_bytes;
    auto pending = next_->reduce(narrow, contribution);
    dense_bytes_ += (next_->traffic().dense_bytes - before) * static_cast<double>(torch::elementSize(type)) /
                    static_cast<double>(torch::elementSize(type_));
    return finish_with(std::move(pending), [wide = bucket.flat, flat = narrow.flat, contribution] {
      wide.copy_(flat);
      if (contribution) *contribution = contribution->to(wide.scalar_type());
    });
  }
  bool exact() const override { return false; }
  std::string name() const override {
    return fmt::format("{}({})", type_ == torch::kFloat16 ? "float16" : "bfloat16", next_->name());
  }
  HookTraffic traffic() const override { return {dense_bytes_, next_->traffic().sent_bytes}; }

 private:
  torch::ScalarType type_;
  BucketHookPtr next_;
  double dense_bytes_ = 0;
};

}  // namespace

BucketHookPtr cast_hook(torch::ScalarType type, BucketHookPtr next) {
  if (type != torch::kFloat16 && type != torch::kBFloat16) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("cast_hook({}): it casts to Half and BFloat16, which collectives take.", c10::toString(type)));
  }
  return std::make_shared<CastHook>(type, std::move(next));
}

}  // namespace lockstep
