#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>

namespace lockstep {

/// Numbers as their signs, a bit each, and the mean magnitude of each block, a float32 each.
class SignCode {
 public:
  SignCode(std::int64_t numbers, std::int64_t block)
      : numbers_(numbers), blocks_((numbers + block - 1) / block), block_(block) {}
  std::int64_t row_bytes() const { return blocks_ * (block_ / 8 + static_cast<std::int64_t>(sizeof(float))); }

  /// [rows, numbers] of float32 -> [rows, row_bytes()], and back. Where the last block ends after them zeros are taken.
  torch::Tensor encode(const torch::Tensor& numbers) const;
  torch::Tensor decode(const torch::Tensor& rows) const;

 private:
  std::int64_t numbers_;
  std::int64_t blocks_;
  std::int64_t block_;
};

/// Throws Error (kInvalidArgument) naming `whose`, unless the block is a positive multiple of 8.
void require_block(std::int64_t block, const std::string& whose);

}  // namespace lockstep
