#pragma once

#include <cstdint>

namespace lockstep::lab {

/// Random numbers by counter: the n-th number of (seed, stream) needs none before it, so any rank, on any machine,
/// draws the same one, and a resumed run goes on where it was.
class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : key_(mix(mix(seed + kGamma) ^ (stream * kGamma))) {}

  std::uint64_t bits(std::uint64_t counter) const { return mix(key_ + (counter + 1) * kGamma); }
  /// Evenly distributed in [0, 1).
  double uniform(std::uint64_t counter) const { return static_cast<double>(bits(counter) >> 11) * 0x1p-53; }
  /// Evenly distributed in [0, bound); bound is at most 2^53.
  std::int64_t below(std::int64_t bound, std::uint64_t counter) const {
    return static_cast<std::int64_t>(uniform(counter) * static_cast<double>(bound));
  }

 private:
  // SplitMix64: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
  static constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15U;
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  std::uint64_t key_;
};

}  // namespace lockstep::lab
