#pragma once

#include <lockstep/types.h>

#include <cstdint>

namespace lockstep::bench {

/// A whole number as both kinds of element see it: exact where the type is a floating one (as long as it is in the
/// range where that holds), modulo 2^64 where it is an integer.
struct Exact {
  double real = 0;
  std::uint64_t wrapped = 0;

  Exact() = default;
  explicit Exact(int value) : real(value), wrapped(static_cast<std::uint64_t>(static_cast<std::int64_t>(value))) {}
  Exact& operator*=(int factor) {
    real *= factor;
    wrapped *= static_cast<std::uint64_t>(static_cast<std::int64_t>(factor));
    return *this;
  }
};

/// Writes it as one element, least significant byte first. 16-bit floats must be able to hold it exactly and not as a
/// denormal.
void encode(const Exact& value, DataType dtype, unsigned char* element);

/// The largest k, at most `limit`, for which small whole numbers times ranks^k, and the partial sums of the last
/// reduction, are exact in `dtype`.
int exact_powers(int ranks, DataType dtype, int limit);

}  // namespace lockstep::bench
