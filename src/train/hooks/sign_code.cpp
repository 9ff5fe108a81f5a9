#include "train/hooks/sign_code.h"

#include <fmt/format.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

torch::Tensor bits() { return torch::tensor({1, 2, 4, 8, 16, 32, 64, 128}, torch::kUInt8); }

}  // namespace

torch::Tensor SignCode::encode(const torch::Tensor& numbers) const {
  const auto padded = torch::constant_pad_nd(numbers, {0, blocks_ * block_ - numbers_}).view({-1, blocks_, block_});
  const auto signs = (padded.ge(0).view({-1, 8}).to(torch::kUInt8) * bits()).sum(1, false, torch::kUInt8);
  // The mean of what is there: the last blocks hold less, or nothing.
  const auto held = (numbers_ - torch::arange(blocks_, torch::kFloat32) * block_).clamp(1, block_);
  const auto scales = (padded.abs().sum(2) / held).view(torch::kUInt8);
  return torch::cat({signs.view({scales.size(0), -1}), scales}, 1);
}

torch::Tensor SignCode::decode(const torch::Tensor& rows) const {
  const std::int64_t signs = blocks_ * block_ / 8;
  const auto positive = rows.narrow(1, 0, signs).unsqueeze(2).bitwise_and(bits()).ne(0);
  // A copy, whose memory is aligned for float32.
  const auto scales = rows.narrow(1, signs, blocks_ * 4).clone(torch::MemoryFormat::Contiguous).view(torch::kFloat32);
  const auto numbers = (positive.view({-1, blocks_, block_}).to(torch::kFloat32) * 2 - 1) * scales.unsqueeze(2);
  return numbers.view({-1, blocks_ * block_}).narrow(1, 0, numbers_);
}

void require_block(std::int64_t block, const std::string& whose) {
  if (block > 0 && block % 8 == 0) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: a block of {} values; it must be a positive multiple of 8.", whose, block));
}

}  // namespace lockstep
