#include "train/non_finite.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lockstep {
namespace {

/// Adding the exponent's lowest bit to a number without its sign carries into the sign's place exactly if the exponent
/// is all ones: three operations that every vector unit has, and no branch.
template <class Bits, Bits kLowestExponentBit>
bool any_non_finite(const void* data, std::int64_t count) {
  constexpr std::int64_t kBlock = 16384;  // elements between two looks at the answer
  constexpr Bits kSign = std::make_signed_t<Bits>(std::numeric_limits<std::make_signed_t<Bits>>::min());
  constexpr Bits kMagnitude = std::numeric_limits<std::make_signed_t<Bits>>::max();
  const auto* bits = static_cast<const Bits*>(data);
  for (std::int64_t start = 0; start < count; start += kBlock) {
    const std::int64_t end = std::min(count, start + kBlock);
    Bits seen = 0;
    for (std::int64_t i = start; i < end; ++i) {
      seen = static_cast<Bits>(seen | static_cast<Bits>((bits[i] & kMagnitude) + kLowestExponentBit));
    }
    if (seen & kSign) return true;
  }
  return false;
}

}  // namespace

bool has_non_finite(const torch::Tensor& tensor) {
  const auto dense = tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
  const void* data = dense.data_ptr();
  switch (dense.scalar_type()) {
    case torch::kFloat32: return any_non_finite<std::uint32_t, 0x00800000>(data, dense.numel());
    case torch::kFloat64: return any_non_finite<std::uint64_t, 0x0010000000000000>(data, dense.numel());
    case torch::kBFloat16: return any_non_finite<std::uint16_t, 0x0080>(data, dense.numel());
    case torch::kFloat16: return any_non_finite<std::uint16_t, 0x0400>(data, dense.numel());
    default: return false;
  }
}

void forget_non_finite(torch::Tensor& tensor) {
  if (has_non_finite(tensor)) tensor.nan_to_num_(0, 0, 0);
}

}  // namespace lockstep
