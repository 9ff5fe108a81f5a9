#include <fmt/format.h>

#include "train/hooks/hook_base.h"

namespace lockstep {
namespace {

class CastHook : public NarrowingHook {
 public:
  CastHook(torch::ScalarType type, BucketHookPtr next) : NarrowingHook(std::move(next)), type_(type) {}

  Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) override {
    if (torch::elementSize(bucket.flat.scalar_type()) <= torch::elementSize(type_))
      return hand_on(bucket, bucket.flat, contribution);
    GradientBucket narrow = bucket;
    narrow.flat = own_.time([&] { return bucket.flat.to(type_); });
    narrow.gradients.clear();  // of the wide bucket
    return finish_with(hand_on(narrow, bucket.flat, contribution),
                       own_.timed([wide = bucket.flat, flat = narrow.flat, contribution] {
                         wide.copy_(flat);
                         if (contribution) *contribution = contribution->to(wide.scalar_type());
                       }));
  }
  std::string name() const override {
    return fmt::format("{}({})", type_ == torch::kFloat16 ? "float16" : "bfloat16", next_->name());
  }

 private:
  torch::ScalarType type_;
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
