// int8 and sign: all values, in fewer bits.
#include <fmt/format.h>

#include <algorithm>

#include "train/hooks/hook_base.h"
#include "train/hooks/int8_code.h"
#include "train/hooks/sign_code.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

class Int8 : public CompressingHook {
 public:
  Int8(const Group& group, std::int64_t block) : CompressingHook(group), block_(block) {}
  std::string name() const override { return fmt::format("int8({})", block_); }

 protected:
  Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) override {
    const std::int64_t ranks = group_.size();
    const std::int64_t all = bucket.flat.numel();
    const std::int64_t piece = (all + ranks * block_ - 1) / (ranks * block_) * block_;
    const Int8Code code(piece, block_);
    const auto padded = torch::constant_pad_nd(bucket.flat, {0, ranks * piece - all}).view({ranks, piece});
    const auto mine = code.encode(padded);
    const auto pieces = torch::empty_like(mine);
    if (contribution) *contribution = code.decode(mine).flatten().narrow(0, 0, all).clone();
    count_.all_to_all(mine.nbytes());
    count_.all_gather(static_cast<std::size_t>(code.row_bytes()));
    const std::string purpose = purpose_of(bucket, name());
    auto scattered = group_.all_to_all(mine.data_ptr(), buffer_of(pieces), {.purpose = purpose, .in_background = true});
    const torch::Tensor told = contribution ? *contribution : torch::Tensor();
    const auto second = [this, flat = bucket.flat, code, mine, pieces, all, purpose, told, piece] {
      const auto means = torch::empty_like(pieces);
      const auto mean = code.decode(pieces).mean(0, /*keepdim=*/true);
      const auto coded = code.encode(mean);
      means[group_.rank()].copy_(coded[0]);
      const std::int64_t begin = group_.rank() * piece;
      const std::int64_t held = std::clamp<std::int64_t>(all - begin, 0, piece);
      if (told.defined() && held > 0) {
        // What this code of the mean loses counts as lost of this rank's contribution, which is 1/p of it.
        const auto lost = (mean - code.decode(coded))[0].narrow(0, 0, held);
        told.narrow(0, begin, held).sub_(lost, group_.size());
      }
      auto gathered = group_.all_gather(buffer_of(means), {.purpose = purpose});
      return finish_with(std::move(gathered), count_.timed([flat, code, means, all] {
        flat.copy_(code.decode(means).flatten().narrow(0, 0, all));
      }));
    };
    return continue_with(std::move(scattered), count_.timed(second));
  }

 private:
  std::int64_t block_;
};

class Sign : public CompressingHook {
 public:
  Sign(const Group& group, std::int64_t block) : CompressingHook(group), block_(block) {}
  std::string name() const override { return fmt::format("sign({})", block_); }

 protected:
  Pending compress(const GradientBucket& bucket, torch::Tensor* contribution) override {
    const SignCode code(bucket.flat.numel(), block_);
    const auto mine = code.encode(bucket.flat.unsqueeze(0));
    if (contribution) {
      *contribution = code.decode(mine)[0];
      zero_gaps(bucket, *contribution);
    }
    const auto rows = torch::empty({group_.size(), mine.numel()}, torch::kUInt8);
    rows[group_.rank()].copy_(mine[0]);
    count_.all_gather(mine.nbytes());
    auto gathered = group_.all_gather(buffer_of(rows), {.purpose = purpose_of(bucket, name()), .in_background = true});
    return finish_with(std::move(gathered), count_.timed([bucket, rows, code] {
      bucket.flat.copy_(code.decode(rows).mean(0));
      zero_gaps(bucket, bucket.flat);
    }));
  }

 private:
  std::int64_t block_;
};

}  // namespace

BucketHookPtr int8_hook(const Group& group, std::int64_t block) {
  require_block(block, "int8_hook");
  return std::make_shared<Int8>(group, block);
}

BucketHookPtr sign_hook(const Group& group, std::int64_t block) {
  require_block(block, "sign_hook");
  return std::make_shared<Sign>(group, block);
}

}  // namespace lockstep
