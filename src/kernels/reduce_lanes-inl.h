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

/// Each kind of lanes says what stands in memory (Stored, and StoredTag for a vector of it), what is computed with
/// (Vector), how the one becomes the other (widen), and how a result becomes what is stored (finish). `Of` is a
/// vector's size: that of the machine's vectors, or one lane.
struct Full {
  template <class T>
  using Tag = hn::ScalableTag<T>;
};
struct Single {
  template <class T>
  using Tag = hn::CappedTag<T, 1>;
};

template <class T, class Of>
struct IntegerLanes {
  using Stored = T;
  using Tag = typename Of::template Tag<T>;
  using StoredTag = Tag;
  using Vector = hn::Vec<Tag>;
  template <class Size>
  using Resized = IntegerLanes<T, Size>;

  explicit IntegerLanes(int divisor) : divide_by(divisor) {}

  static Vector widen(Vector value) { return value; }
  /// No instruction set here divides integers, so they are divided one by one.
  Vector finish(Vector value) const {
    if (divide_by == 1) return value;
    HWY_ALIGN T each[hn::MaxLanes(Tag())];
    hn::Store(value, Tag(), each);
    for (std::size_t i = 0; i < hn::Lanes(Tag()); ++i) each[i] = static_cast<T>(each[i] / divide_by);
    return hn::Load(Tag(), each);
  }

  int divide_by;
};

/// Divides, and makes every NaN the one quiet NaN.
template <class Tag>
class FloatFinish {
 public:
  using T = hn::TFromD<Tag>;
  using Vector = hn::Vec<Tag>;

  /// The reciprocal of a power of two is exact, so that a product with it has the quotient's bits, and is faster.
  explicit FloatFinish(int divisor)
      : multiplies_(std::has_single_bit(static_cast<unsigned>(divisor))),
        factor_(divisor == 1  ? T{1}
                : multiplies_ ? T{1} / static_cast<T>(divisor)
                              : static_cast<T>(divisor)) {}

  Vector operator()(Vector value) const {
    const Tag tag;
    value = multiplies_ ? hn::Mul(value, hn::Set(tag, factor_)) : hn::Div(value, hn::Set(tag, factor_));
    return hn::IfThenElse(hn::IsNaN(value), hn::Set(tag, std::numeric_limits<T>::quiet_NaN()), value);
  }

 private:
  bool multiplies_;
  T factor_;
};

template <class T, class Of>
struct FloatLanes {
  using Stored = T;
  using Tag = typename Of::template Tag<T>;
  using StoredTag = Tag;
  using Vector = hn::Vec<Tag>;
  template <class Size>
  using Resized = FloatLanes<T, Size>;

  explicit FloatLanes(int divisor) : divided(divisor) {}

  static Vector widen(Vector value) { return value; }
  Vector finish(Vector value) const { return divided(value); }

  FloatFinish<Tag> divided;
};

template <class FloatTag>
struct BFloat16 {
  using BitsTag = hn::RebindToUnsigned<FloatTag>;
  using FloatVector = hn::Vec<FloatTag>;
  using BitsVector = hn::Vec<BitsTag>;
  using HalfTag = hn::Rebind<std::uint16_t, FloatTag>;
  using HalfVector = hn::Vec<HalfTag>;

  static FloatVector widen(HalfVector half) {
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(BitsTag(), half)));
  }
  /// To nearest even: the last bit kept is added to just under half of it.
  static HalfVector narrow(FloatVector value) {
    const BitsTag tag;
    const auto bits = hn::BitCast(tag, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(tag, 1));
    return hn::TruncateTo(HalfTag(), hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(tag, 0x7fff)))));
  }
};

/// By the instructions of x86 from AVX2 on, which round to nearest even whatever else is set; elsewhere, where
/// Highway's emulations do not all round alike, by integers. Source: Fabian Giesen, "Float->half variants" and
/// "half_to_float_fast5" (public domain), https://gist.github.com/rygorous/2156668.
template <class FloatTag>
class Float16 {
 public:
  using BitsTag = hn::RebindToUnsigned<FloatTag>;
  using FloatVector = hn::Vec<FloatTag>;
  using BitsVector = hn::Vec<BitsTag>;
  using HalfTag = hn::Rebind<std::uint16_t, FloatTag>;
  using HalfVector = hn::Vec<HalfTag>;
  static constexpr bool kInstructions = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2;  // or a better one
  using NativeTag = hn::Rebind<hwy::float16_t, FloatTag>;

  static FloatVector widen(HalfVector half) {
    if constexpr (kInstructions) {
      return hn::PromoteTo(FloatTag(), hn::BitCast(NativeTag(), half));
    } else {
      return widen_by_integers(hn::PromoteTo(BitsTag(), half));
    }
  }

  static HalfVector narrow(FloatVector value) {
    if constexpr (kInstructions) {
      return hn::BitCast(HalfTag(), hn::DemoteTo(NativeTag(), value));
    } else {
      return hn::TruncateTo(HalfTag(), narrow_by_integers(value));
    }
  }

 private:
  static constexpr std::uint32_t kRebias = (127 - 15) << 23;

  static FloatVector widen_by_integers(BitsVector half) {
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

  static BitsVector narrow_by_integers(FloatVector value) {
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
template <template <class> class Format, class Of>
struct HalfLanes {
  using Stored = std::uint16_t;
  using Tag = typename Of::template Tag<float>;
  using StoredTag = hn::Rebind<std::uint16_t, Tag>;
  using Vector = hn::Vec<Tag>;
  template <class Size>
  using Resized = HalfLanes<Format, Size>;

  explicit HalfLanes(int divisor) : divided(divisor) {}

  static Vector widen(hn::Vec<StoredTag> half) { return Format<Tag>::widen(half); }
  hn::Vec<StoredTag> finish(Vector value) const { return Format<Tag>::narrow(divided(value)); }

  FloatFinish<Tag> divided;
};

}  // namespace lockstep::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // LOCKSTEP_KERNELS_REDUCE_LANES_INL_H_
