#include "train/hooks/int8_code.h"

namespace lockstep {

torch::Tensor Int8Code::encode(const torch::Tensor& numbers) const {
  const auto blocks = torch::constant_pad_nd(numbers, {0, blocks_ * block_ - numbers_}).reshape({-1, blocks_, block_});
  const auto scales = blocks.abs().amax(2, /*keepdim=*/true) / 127;
  const auto codes = (blocks / scales.clamp_min(1e-37)).round().to(torch::kInt8);
  return torch::cat({codes.reshape({-1, blocks_ * block_}).view(torch::kUInt8).narrow(1, 0, numbers_),
                     scales.reshape({-1, blocks_}).contiguous().view(torch::kUInt8)},
                    1);
}

torch::Tensor Int8Code::decode(const torch::Tensor& rows) const {
  const auto codes = rows.narrow(1, 0, numbers_).contiguous().view(torch::kInt8).to(torch::kFloat32);
  // A copy, whose memory is aligned for float32.
  const auto scales =
      rows.narrow(1, numbers_, blocks_ * 4).clone(torch::MemoryFormat::Contiguous).view(torch::kFloat32);
  const auto blocks = torch::constant_pad_nd(codes, {0, blocks_ * block_ - numbers_}).view({-1, blocks_, block_});
  return (blocks * scales.unsqueeze(2)).view({-1, blocks_ * block_}).narrow(1, 0, numbers_);
}

}  // namespace lockstep
