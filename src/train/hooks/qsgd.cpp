// Multiples of a norm, drawn so that the mean is right.
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include "train/hooks/hook_base.h"
#include "train/hooks/sign_code.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

class Qsgd : public CompressingHook {
 public:
  Qsgd(const Group& group, int levels, std::uint64_t seed, std::int64_t bucket)
      : CompressingHook(group),
        levels_(levels),
        bits_(levels == 1   ? 2
              : levels <= 7 ? 4
                            : 8),
        bucket_(bucket),
        // Ranks draw each for itself, so that the errors of their means cancel.
        generator_(at::detail::createCPUGenerator(seed + static_cast<std::uint64_t>(group.rank()))) {}
  std::string name() const override { return fmt::format("qsgd({})", levels_); }

 protected:
  Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) override {
    const std::int64_t all = bucket.flat.numel();
    const auto mine = encode(bucket.flat);
    if (contribution) *contribution = decode(mine, all);
    const auto rows = torch::empty({group_.size(), mine.numel()}, torch::kUInt8);
    rows[group_.rank()].copy_(mine);
    count_.all_gather(mine.nbytes());
    auto gathered = group_.all_gather(buffer_of(rows), {.purpose = purpose_of(bucket, name()), .in_background = true});
    return finish_with(std::move(gathered), count_.timed([this, flat = bucket.flat, rows, all] {
      flat.zero_();
      for (const auto& row : rows.unbind(0)) flat.add_(decode(row, all), 1.0 / static_cast<double>(rows.size(0)));
    }));
  }

 private:
  /// Codes from 0 to 2 levels, packed, then the norms.
  torch::Tensor encode(const torch::Tensor& flat) {
    const std::int64_t buckets = (flat.numel() + bucket_ - 1) / bucket_;
    const auto numbers = torch::constant_pad_nd(flat, {0, buckets * bucket_ - flat.numel()}).view({buckets, bucket_});
    const auto norms = numbers.norm(2, 1, /*keepdim=*/true);
    const auto scaled = numbers.abs() / norms.clamp_min(1e-30) * levels_;
    const auto floor = scaled.floor();
    const auto drawn = torch::rand(scaled.sizes(), generator_, torch::kFloat32);
    // Rounding may put a value a little above its norm.
    const auto magnitudes = (floor + drawn.lt(scaled - floor)).clamp_max(levels_);
    auto codes = (magnitudes * numbers.sign() + levels_).to(torch::kUInt8).view({-1, 8 / bits_});
    auto packed = codes.select(1, 0).clone();
    for (std::int64_t i = 1; i < codes.size(1); ++i) packed.bitwise_or_(codes.select(1, i) * (1 << (i * bits_)));
    return torch::cat({packed, norms.flatten().view(torch::kUInt8)});
  }

  torch::Tensor decode(const torch::Tensor& row, std::int64_t all) const {
    const std::int64_t buckets = (all + bucket_ - 1) / bucket_;
    const auto packed = row.narrow(0, 0, buckets * bucket_ * bits_ / 8);
    const auto norms = row.narrow(0, packed.numel(), buckets * 4).clone().view(torch::kFloat32);
    std::vector<torch::Tensor> codes;
    for (std::int64_t shift = 0; shift < 8; shift += bits_) {
      codes.push_back(torch::floor_divide(packed, 1 << shift).bitwise_and((1 << bits_) - 1));
    }
    const auto multiples = torch::stack(codes, 1).view({buckets, bucket_}).to(torch::kFloat32) - levels_;
    return (multiples * (norms / levels_).unsqueeze(1)).flatten().narrow(0, 0, all);
  }

  int levels_;
  std::int64_t bits_;
  std::int64_t bucket_;
  at::Generator generator_;
};

}  // namespace

BucketHookPtr qsgd_hook(const Group& group, int levels, std::uint64_t seed, std::int64_t bucket) {
  if (levels < 1 || levels > 127) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("qsgd_hook: {} levels; there can be 1 to 127, which 2 to 8 bits hold.", levels));
  }
  require_block(bucket, "qsgd_hook");
  return std::make_shared<Qsgd>(group, levels, seed, bucket);
}

}  // namespace lockstep
