#pragma once

#include <torch/types.h>

#include <cstdint>

namespace lockstep {

/// Numbers as 8-bit ones, a byte each, and a scale for each block of them, a float32 each: the block's largest
/// magnitude over 127.
class Int8Code {
 public:
  Int8Code(std::int64_t numbers, std::int64_t block)
      : numbers_(numbers), blocks_((numbers + block - 1) / block), block_(block) {}
  std::int64_t row_bytes() const { return numbers_ + blocks_ * static_cast<std::int64_t>(sizeof(float)); }

  /// [rows, numbers] of float32 -> [rows, row_bytes()] of uint8, and back. The last block may be a shorter one.
  torch::Tensor encode(const torch::Tensor& numbers) const;
  torch::Tensor decode(const torch::Tensor& rows) const;

 private:
  std::int64_t numbers_;
  std::int64_t blocks_;
  std::int64_t block_;
};

}  // namespace lockstep
