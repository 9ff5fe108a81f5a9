#include "kernels/float_mode.h"
#include "kernels/reduce.h"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace lockstep::kernels {

namespace {

/// An element type that is computed in itself.
template <class T>
struct Plain {
  using Stored = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};

struct BFloat16 {
  using Stored = std::uint16_t;
  static float widen(Stored bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  static Stored narrow(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return static_cast<Stored>(bits >> 16);  // the one quiet NaN: rounding must not carry
    const std::uint32_t below = bits & 0xffffU;
    const bool up = below > 0x8000U || (below == 0x8000U && (bits & 0x10000U) != 0);
    return static_cast<Stored>((bits >> 16) + (up ? 1 : 0));  // a carry out of the mantissa is the next exponent
  }
};

/// IEEE 754 binary16: 1 sign bit, 5 of the exponent, 10 of the mantissa.
struct Float16 {
  using Stored = std::uint16_t;
  static constexpr int kLowestExponent = -14;

  static float widen(Stored bits) {
    const int exponent = (bits >> 10) & 0x1f;
    const int mantissa = bits & 0x3ff;
    float magnitude = 0;
    if (exponent == 0x1f) {
      magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == 0) {
      magnitude = std::ldexp(static_cast<float>(mantissa), kLowestExponent - 10);
    } else {
      magnitude = std::ldexp(static_cast<float>(0x400 + mantissa), exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }

  static Stored narrow(float value) {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) return static_cast<Stored>(sign | 0x7e00);
    if (magnitude >= 65520.0F)
      return static_cast<Stored>(sign | 0x7c00);  // halfway to what would come after the largest
    const int exponent = magnitude == 0 ? kLowestExponent : std::max(std::ilogb(magnitude), kLowestExponent);
    // 0 to 2048 units of this exponent; from 1024 on the number is normal, and 2048 is the first of the next exponent.
    const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
    return static_cast<Stored>(sign | (((exponent - kLowestExponent) << 10) + units));
  }
};

/// Integers wrap around; signed ones are computed as unsigned, where that is defined.
template <std::integral T>
T combine(ReduceOp op, T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto x = static_cast<Unsigned>(a);
  const auto y = static_cast<Unsigned>(b);
  switch (op) {
    case ReduceOp::kMin: return b < a ? b : a;
    case ReduceOp::kMax: return b > a ? b : a;
    case ReduceOp::kProduct: return static_cast<T>(x * y);
    case ReduceOp::kSum:
    case ReduceOp::kMean: break;
  }
  return static_cast<T>(x + y);
}

template <std::floating_point T>
T lesser(T a, T b) {
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <std::floating_point T>
T combine(ReduceOp op, T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  switch (op) {
    case ReduceOp::kMin: return lesser(a, b);
    case ReduceOp::kMax: return -lesser(-a, -b);
    case ReduceOp::kProduct: return a * b;
    case ReduceOp::kSum:
    case ReduceOp::kMean: break;
  }
  return a + b;
}

template <class T>
T finish(T value, int divide_by) {
  if (divide_by != 1) value = static_cast<T>(value / static_cast<std::common_type_t<T, int>>(divide_by));
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return std::numeric_limits<T>::quiet_NaN();
  }
  return value;
}

/// Neighbours become one until one is left; the last of an odd number waits for the next round. So a whole tree of a
/// power of two is combined with what is behind it.
template <class ValueAt>
auto combine_tree(ReduceOp op, std::size_t first, std::size_t count, const ValueAt& value_at)
    -> decltype(value_at(first)) {
  if (count == 1) return value_at(first);
  const std::size_t whole = std::bit_floor(count - 1);
  return combine(op, combine_tree(op, first, whole, value_at),
                 combine_tree(op, first + whole, count - whole, value_at));
}

void copy_beside(const ReduceArguments& arguments) {
  const std::size_t bytes = arguments.count * size_of(arguments.dtype);
  if (bytes != 0 && arguments.copy_target != nullptr) std::memcpy(arguments.copy_target, arguments.copy_source, bytes);
}

template <class Element>
void reduce_elements(const ReduceArguments& arguments) {
  using Stored = typename Element::Stored;
  for (std::size_t i = 0; i < arguments.count; ++i) {
    const auto value_of = [&](std::size_t operand) {
      return Element::widen(static_cast<const Stored*>(arguments.operands[operand])[i]);
    };
    const auto combined = combine_tree(arguments.op, 0, arguments.operand_count, value_of);
    const Stored result = Element::narrow(finish(combined, arguments.divide_by));
    for (std::size_t t = 0; t < arguments.target_count; ++t) static_cast<Stored*>(arguments.targets[t])[i] = result;
  }
  copy_beside(arguments);
}

void copy_elements(const ReduceArguments& arguments) {
  const std::size_t bytes = arguments.count * size_of(arguments.dtype);
  for (std::size_t t = 0; t < arguments.target_count; ++t) {
    if (bytes != 0) std::memmove(arguments.targets[t], arguments.operands[0], bytes);
  }
  copy_beside(arguments);
}

}  // namespace

void reduce_scalar(const ReduceArguments& arguments) {
  const DefaultFloatMode mode;
  if (arguments.operand_count == 1 && arguments.divide_by == 1) return copy_elements(arguments);
  switch (arguments.dtype) {
    case DataType::kFloat32: return reduce_elements<Plain<float>>(arguments);
    case DataType::kFloat64: return reduce_elements<Plain<double>>(arguments);
    case DataType::kBFloat16: return reduce_elements<BFloat16>(arguments);
    case DataType::kFloat16: return reduce_elements<Float16>(arguments);
    case DataType::kInt32: return reduce_elements<Plain<std::int32_t>>(arguments);
    case DataType::kInt64: return reduce_elements<Plain<std::int64_t>>(arguments);
    case DataType::kUInt8: return reduce_elements<Plain<std::uint8_t>>(arguments);
  }
}

}  // namespace lockstep::kernels
