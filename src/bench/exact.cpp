#include "bench/exact.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace lockstep::bench {

namespace {

struct Format {
  int digits;    ///< binary digits of the significand
  int exponent;  ///< of the largest number
};

/// Of a floating type; integers wrap around and are always exact.
bool floating(DataType dtype, Format& format) {
  switch (dtype) {
    case DataType::kFloat32: format = {24, 127}; return true;
    case DataType::kFloat64: format = {53, 1023}; return true;
    case DataType::kBFloat16: format = {8, 127}; return true;
    case DataType::kFloat16: format = {11, 15}; return true;
    default: return false;
  }
}

std::uint16_t to_float16(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (value == 0) return sign;
  int exponent = 0;
  const double significand = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  return static_cast<std::uint16_t>(sign | (exponent + 14) << 10 | static_cast<int>((significand * 2 - 1) * 1024));
}

template <class T>
void store(T value, unsigned char* element) {
  std::memcpy(element, &value, sizeof value);
}

}  // namespace

void encode(const Exact& value, DataType dtype, unsigned char* element) {
  const auto single = static_cast<float>(value.real);
  switch (dtype) {
    case DataType::kFloat32: return store(single, element);
    case DataType::kFloat64: return store(value.real, element);
    case DataType::kBFloat16:
      return store(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(single) >> 16), element);
    case DataType::kFloat16: return store(to_float16(value.real), element);
    case DataType::kInt32: return store(static_cast<std::uint32_t>(value.wrapped), element);
    case DataType::kInt64: return store(value.wrapped, element);
    case DataType::kUInt8: return store(static_cast<std::uint8_t>(value.wrapped), element);
  }
}

int exact_powers(int ranks, DataType dtype, int limit) {
  constexpr double kSmall = 3;  // log2 of more than any value of the pattern
  Format format{};
  if (ranks == 1 || !floating(dtype, format)) return limit;
  // Times a power of two only the exponent grows.
  const bool power_of_two = std::has_single_bit(static_cast<unsigned>(ranks));
  const double room = (power_of_two ? format.exponent : format.digits) - kSmall;
  const int powers = static_cast<int>(room / std::log2(ranks));
  return std::min(std::max(powers, 1), limit);
}

}  // namespace lockstep::bench
