// top_k and random_k: some of the values.
#include "train/hooks/sparse.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "train/non_finite.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

torch::Tensor words_of(const torch::Tensor& values, const torch::Tensor& places) {
  return torch::cat({values.view(torch::kInt32), places.to(torch::kInt32)});
}

void add_words(torch::Tensor flat, const torch::Tensor& words) {
  const std::int64_t count = words.numel() / 2;
  flat.index_add_(0, words.narrow(0, count, count).to(torch::kInt64), words.narrow(0, 0, count).view(torch::kFloat32));
}

/// Of a rank's words, which lie one after the other, `counts[r]` of rank r.
void mean_of_words(torch::Tensor flat, const torch::Tensor& words, const std::vector<std::size_t>& counts) {
  flat.zero_();
  std::int64_t at = 0;
  for (const std::size_t count : counts) {
    add_words(flat, words.narrow(0, at, static_cast<std::int64_t>(count)));
    at += static_cast<std::int64_t>(count);
  }
  flat.div_(static_cast<double>(counts.size()));
}

class TopK : public SparseHook {
 public:
  TopK(const Group& group, double fraction) : SparseHook(group), fraction_(fraction) {}
  std::string name() const override { return fmt::format("top_k({})", fraction_); }

 protected:
  Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) override {
    const auto places = places_of_largest(bucket.flat, count_of(fraction_, bucket.flat.numel()));
    const auto values = bucket.flat.index_select(0, places);
    if (contribution) *contribution = torch::zeros_like(bucket.flat).index_copy_(0, places, values);
    return mean_of(bucket, values, places);
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
    GradientBucket drawn = bucket;
    torch::Tensor places;
    own_.time([&] {
      places = torch::randperm(all, generator_, torch::kInt64).narrow(0, 0, k).contiguous();
      drawn.flat = bucket.flat.index_select(0, places);
      // What is no number reaches all ranks, though its own place may not be drawn.
      if (has_non_finite(bucket.flat)) drawn.flat.fill_(std::numeric_limits<double>::quiet_NaN());
    });
    drawn.gradients.clear();  // of the whole bucket
    const auto put_back = [bucket, values = drawn.flat, places, contribution] {
      bucket.flat.zero_().index_copy_(0, places, values);
      zero_gaps(bucket, bucket.flat);
      if (!contribution) return;
      *contribution = torch::zeros_like(bucket.flat).index_copy_(0, places, *contribution);
      zero_gaps(bucket, *contribution);
    };
    return finish_with(hand_on(drawn, bucket.flat, contribution), own_.timed(put_back));
  }
  std::string name() const override { return fmt::format("random_k({}, {})", fraction_, next_->name()); }

 private:
  double fraction_;
  at::Generator generator_;  // the same numbers on all ranks
};

}  // namespace

std::int64_t count_of(double fraction, std::int64_t values) {
  return std::max<std::int64_t>(1, std::llround(fraction * static_cast<double>(values)));
}

torch::Tensor places_of_largest(const torch::Tensor& flat, std::int64_t count) {
  return std::get<1>(flat.abs().topk(count, 0, /*largest=*/true, /*sorted=*/false));
}

Pending SparseHook::mean_of(const GradientBucket& bucket, const torch::Tensor& values, const torch::Tensor& places) {
  const auto own = words_of(values, places);
  const auto ranks = static_cast<std::size_t>(group_.size());
  const auto rows = torch::empty({group_.size(), own.numel()}, torch::kInt32);
  rows[group_.rank()].copy_(own);
  count_.all_gather(own.nbytes());
  auto gathered = group_.all_gather(buffer_of(rows), {.purpose = purpose_of(bucket, name()), .in_background = true});
  return finish_with(std::move(gathered), count_.timed([flat = bucket.flat, rows, ranks] {
    mean_of_words(flat, rows.flatten(), std::vector<std::size_t>(ranks, static_cast<std::size_t>(rows.size(1))));
  }));
}

Pending SparseHook::mean_of_uneven(const GradientBucket& bucket, const torch::Tensor& values,
                                   const torch::Tensor& places) {
  const auto own = words_of(values, places);
  const auto sizes = torch::empty({group_.size()}, torch::kInt64);
  sizes[group_.rank()] = own.numel();
  const std::string purpose = purpose_of(bucket, name());
  count_.all_gather(sizeof(std::int64_t));
  const auto second = [this, flat = bucket.flat, own, sizes, purpose] {
    const auto* const begin = sizes.data_ptr<std::int64_t>();
    const std::vector<std::size_t> counts(begin, begin + sizes.numel());
    const auto offset = std::accumulate(begin, begin + group_.rank(), std::int64_t{0});
    const auto words = torch::empty({sizes.sum().item<std::int64_t>()}, torch::kInt32);
    words.narrow(0, offset, own.numel()).copy_(own);
    count_.all_gather(own.nbytes());
    auto gathered = group_.all_gather_v(buffer_of(words), counts, {.purpose = purpose});
    return finish_with(std::move(gathered),
                       count_.timed([flat, words, counts] { mean_of_words(flat, words, counts); }));
  };
  return continue_with(group_.all_gather(buffer_of(sizes), {.purpose = purpose, .in_background = true}),
                       count_.timed(second));
}

BucketHookPtr top_k_hook(const Group& group, double fraction) {
  require_fraction(fraction, "top_k_hook");
  return std::make_shared<TopK>(group, fraction);
}

BucketHookPtr random_k_hook(double fraction, std::uint64_t seed, BucketHookPtr next) {
  require_fraction(fraction, "random_k_hook");
  return std::make_shared<RandomK>(fraction, seed, std::move(next));
}

}  // namespace lockstep
