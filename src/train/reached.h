#pragma once

#include <algorithm>
#include <cstdint>

namespace lockstep {

/// What a rank says of a parameter in a synchronised backward. Ranks say the largest of what they have: who found
/// something wrong goes before who merely has a gradient.
inline constexpr std::uint8_t kNotReached = 0;
inline constexpr std::uint8_t kReached = 1;
inline constexpr std::uint8_t kNonFiniteOnRankZero = 2;

inline std::uint8_t non_finite_on(int rank) {
  constexpr int kRanks = 256 - kNonFiniteOnRankZero;
  return static_cast<std::uint8_t>(kNonFiniteOnRankZero + std::min(rank, kRanks - 1));
}

}  // namespace lockstep
