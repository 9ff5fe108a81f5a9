#pragma once

#include <lockstep/sharded.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "train/hooks/int8_code.h"

namespace lockstep {

/// How the float32 values of a piece travel in a gather: in fewer bits than they have (Wang et al., "ZeRO++",
/// arXiv:2306.10209: qwZ).
class WireCode {
 public:
  /// `gather_as` is not kFloat32; `numbers` is a piece's, a multiple of 4.
  WireCode(GatherAs gather_as, std::int64_t numbers);

  std::size_t row_bytes() const;
  /// [numbers] of float32 into `row`, [row_bytes()] of uint8.
  void encode(const torch::Tensor& numbers, const torch::Tensor& row) const;
  /// [rows, row_bytes()] of uint8 into `numbers`, [rows * numbers] of float32.
  void decode(const torch::Tensor& rows, const torch::Tensor& numbers) const;

 private:
  std::int64_t numbers_;
  std::optional<Int8Code> int8_;  ///< none: bfloat16
};

}  // namespace lockstep
