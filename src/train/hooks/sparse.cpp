// top_k and random_k: some of the values.
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "train/hooks/hook_base.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

std::int64_t count_of(double fraction, std::int64_t values) {
  return std::max<std::int64_t>(1, std::llround(fraction * static_cast<double>(values)));
}

class TopK : public CompressingHook {
 public:
  TopK(const Group& group, double fraction) : CompressingHook(group), fraction_(fraction) {}
  std::string name() const override { return fmt::format("top_k({})", fraction_); }

 protected:
  Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) override {
    const std::int64_t k = count_of(fraction_, bucket.flat.numel());
    const auto places = std::get<1>(bucket.flat.abs().topk(k, 0, /*largest=*/true, /*sorted=*/false));
    const auto values = bucket.flat.index_select(0, places);
    if (contribution) *contribution = torch::zeros_like(bucket.flat).index_copy_(0, places, values);

    // A row a rank: its values, then their places, as 32-bit words.
    auto rows = torch::empty({group_.size(), 2 * k}, torch::kInt32);
    rows[group_.rank()].narrow(0, 0, k).copy_(values.view(torch::kInt32));
    rows[group_.rank()].narrow(0, k, k).copy_(places);
    count_.all_gather(static_cast<std::size_t>(2 * k) * sizeof(std::int32_t));
    auto gathered = group_.all_gather(buffer_of(rows), {.purpose = purpose_of(bucket, name())});
    return finish_with(std::move(gathered), [flat = bucket.flat, rows, k, ranks = group_.size()] {
      flat.zero_();
      for (int rank = 0; rank < ranks; ++rank) {
        const auto row = rows[rank];
        flat.index_add_(0, row.narrow(0, k, k).to(torch::kInt64), row.narrow(0, 0, k).view(torch::kFloat32));
      }
      flat.div_(ranks);
    });
  }

 private:
  double fraction_;
};

class RandomK : public NarrowingHook {
 public:
  RandomK(double fraction, std::uint64_t seed, BucketHookPtr next)
      : NarrowingHook(std::move(next)), fraction_(fraction), generator_(at::detail::createCPUGenerator(seed)) {}

  Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) override {
    const std::int64_t all = bucket.flat.numel();
    const std::int64_t k = count_of(fraction_, all);
    const auto places = torch::randperm(all, generator_, torch::kInt64).narrow(0, 0, k).contiguous();
    GradientBucket drawn = bucket;
    drawn.flat = bucket.flat.index_select(0, places);
    drawn.gradients.clear();  // of the whole bucket
    return finish_with(hand_on(drawn, bucket.flat, contribution), [bucket, values = drawn.flat, places, contribution] {
      bucket.flat.zero_().index_copy_(0, places, values);
      zero_gaps(bucket, bucket.flat);
      if (!contribution) return;
      *contribution = torch::zeros_like(bucket.flat).index_copy_(0, places, *contribution);
      zero_gaps(bucket, *contribution);
    });
  }
  std::string name() const override { return fmt::format("random_k({}, {})", fraction_, next_->name()); }

 private:
  double fraction_;
  at::Generator generator_;  // the same numbers on all ranks
};

}  // namespace

BucketHookPtr top_k_hook(const Group& group, double fraction) {
  require_fraction(fraction, "top_k_hook");
  return std::make_shared<TopK>(group, fraction);
}

BucketHookPtr random_k_hook(double fraction, std::uint64_t seed, BucketHookPtr next) {
  require_fraction(fraction, "random_k_hook");
  return std::make_shared<RandomK>(fraction, seed, std::move(next));
}

}  // namespace lockstep
