// How elements in memory become the vectors that they are combined in, and back. Included once for each instruction
// set, so its guard is Highway's toggle.
#if defined(LOCKSTEP_KERNELS_REDUCE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_KERNELS_REDUCE_LANES_INL_H_
#undef LOCKSTEP_KERNELS_REDUCE_LANES_INL_H_
#else
#define LOCKSTEP_KERNELS_REDUCE_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace lockstep::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct IntegerLanes {
  using Stored = T;
  using Tag = hn::ScalableTag<T>;
  using Vector = hn::Vec<Tag>;

  explicit IntegerLanes(int divisor) : divide_by(divisor) {}

  Vector load(const T* from) const { return hn::LoadU(Tag(), from); }
  /// No instruction set here divides integers, so the block is divided one by one while it is in the cache.
  void finish(Vector value, T* to) const {
    hn::StoreU(value, Tag(), to);
    if (divide_by == 1) return;
    for (std::size_t i = 0; i < hn::Lanes(Tag()); ++i) to[i] = static_cast<T>(to[i] / divide_by);
  }

  int divide_by;
};

/// Divides, and makes every NaN the one quiet NaN.
template <class Tag>
struct FloatFinish {
  using T = hn::TFromD<Tag>;
  using Vector = hn::Vec<Tag>;

  explicit FloatFinish(int divisor) : divide_by(static_cast<T>(divisor)) {}

  Vector operator()(Vector value) const {
    const Tag tag;
    if (divide_by != T{1}) value = hn::Div(value, hn::Set(tag, divide_by));
    return hn::IfThenElse(hn::IsNaN(value), hn::Set(tag, std::numeric_limits<T>::quiet_NaN()), value);
  }

  T divide_by;
};

template <class T>
struct FloatLanes {
  using Stored = T;
  using Tag = hn::ScalableTag<T>;
  using Vector = hn::Vec<Tag>;

  explicit FloatLanes(int divisor) : divided(divisor) {}

  Vector load(const T* from) const { return hn::LoadU(Tag(), from); }
  void finish(Vector value, T* to) const { hn::StoreU(divided(value), Tag(), to); }

  FloatFinish<Tag> divided;
};

using FloatTag = hn::ScalableTag<float>;
using BitsTag = hn::RebindToUnsigned<FloatTag>;
using HalfTag = hn::Rebind<std::uint16_t, FloatTag>;
using FloatVector = hn::Vec<FloatTag>;
using BitsVector = hn::Vec<BitsTag>;

struct BFloat16 {
  static FloatVector widen(BitsVector half) { return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(half)); }
  /// To nearest even: the last bit kept is added to just under half of it.
  static BitsVector narrow(FloatVector value) {
    const BitsTag tag;
    const auto bits = hn::BitCast(tag, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(tag, 1));
    return hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(tag, 0x7fff))));
  }
};

/// Without the instructions that not all machines have, and that do not round alike where they are emulated. Source:
/// Fabian Giesen, "Float->half variants" and "half_to_float_fast5" (public domain),
/// https://gist.github.com/rygorous/2156668.
struct Float16 {
  static constexpr std::uint32_t kRebias = (127 - 15) << 23;

  static FloatVector widen(BitsVector half) {
    const BitsTag tag;
    const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(tag, 0x7fff)));
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(tag, 0x8000)));
    const auto exponent = hn::And(magnitude, hn::Set(tag, 0x7c00 << 13));
    const auto normal = hn::Add(magnitude, hn::Set(tag, kRebias));
    const auto infinite = hn::Add(normal, hn::Set(tag, (128 - 16) << 23));
    // A subnormal becomes the mantissa of 2^-14 + itself, from which 2^-14 is taken.
    const auto with_one = hn::BitCast(FloatTag(), hn::Add(normal, hn::Set(tag, 1 << 23)));
    const auto lowest = hn::Set(FloatTag(), std::bit_cast<float>(std::uint32_t{113} << 23));
    const auto subnormal = hn::BitCast(tag, hn::Sub(with_one, lowest));
    const auto finite = hn::IfThenElse(hn::Eq(exponent, hn::Zero(tag)), subnormal, normal);
    const auto bits = hn::IfThenElse(hn::Eq(exponent, hn::Set(tag, 0x7c00 << 13)), infinite, finite);
    return hn::BitCast(FloatTag(), hn::Or(bits, sign));
  }

  static BitsVector narrow(FloatVector value) {
    const BitsTag tag;
    const auto bits = hn::BitCast(tag, value);
    const auto sign = hn::And(bits, hn::Set(tag, 0x80000000U));
    const auto magnitude = hn::Xor(bits, sign);
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(tag, 1));
    // Rebias the exponent and round to nearest even; a carry out of the mantissa is the next exponent, up to infinity.
    const auto normal = hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(odd, hn::Set(tag, 0U - kRebias + 0xfffU))));
    // Adding one half lines the mantissa up with the units of a subnormal and lets the addition round.
    const std::uint32_t one_half = std::uint32_t{126} << 23;
    const auto aligned = hn::Add(hn::BitCast(FloatTag(), magnitude), hn::Set(FloatTag(), 0.5F));
    const auto subnormal = hn::Sub(hn::BitCast(tag, aligned), hn::Set(tag, one_half));
    const auto infinity = hn::Set(tag, std::uint32_t{0xff} << 23);
    const auto special = hn::IfThenElse(hn::Gt(magnitude, infinity), hn::Set(tag, 0x7e00), hn::Set(tag, 0x7c00));
    const auto finite = hn::IfThenElse(hn::Lt(magnitude, hn::Set(tag, std::uint32_t{113} << 23)), subnormal, normal);
    const auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(tag, std::uint32_t{143} << 23)), finite, special);
    return hn::Or(half, hn::ShiftRight<16>(sign));
  }
};

/// 16-bit floats, combined as float.
template <class Format>
struct HalfLanes {
  using Stored = std::uint16_t;
  using Tag = FloatTag;
  using Vector = FloatVector;

  explicit HalfLanes(int divisor) : divided(divisor) {}

  Vector load(const Stored* from) const { return Format::widen(hn::PromoteTo(BitsTag(), hn::LoadU(HalfTag(), from))); }
  void finish(Vector value, Stored* to) const {
    hn::StoreU(hn::TruncateTo(HalfTag(), Format::narrow(divided(value))), HalfTag(), to);
  }

  FloatFinish<FloatTag> divided;
};

}  // namespace lockstep::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // LOCKSTEP_KERNELS_REDUCE_LANES_INL_H_
