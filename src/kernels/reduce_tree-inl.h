// The binary tree over the operands of one block of vectors, and how such a block is read and written. Included once
// for each instruction set, so its guard is Highway's toggle.
#if defined(LOCKSTEP_KERNELS_REDUCE_TREE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_KERNELS_REDUCE_TREE_INL_H_
#undef LOCKSTEP_KERNELS_REDUCE_TREE_INL_H_
#else
#define LOCKSTEP_KERNELS_REDUCE_TREE_INL_H_
#endif

#include "kernels/reduce.h"

#include <hwy/highway.h>

#include <bit>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace lockstep::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Whole vectors.
template <class Lanes_>
struct Whole {
  using Lanes = Lanes_;
  using Stored = typename Lanes::Stored;
  using StoredTag = typename Lanes::StoredTag;

  HWY_INLINE typename Lanes::Vector read(const Stored* from) const {
    return Lanes::widen(hn::LoadU(StoredTag(), from));
  }
  HWY_INLINE void write(hn::Vec<StoredTag> value, Stored* to) const { hn::StoreU(value, StoredTag(), to); }
  HWY_INLINE void copy(const Stored* from, Stored* to) const { write(hn::LoadU(StoredTag(), from), to); }
};

/// The first lanes of a vector; what lies behind them is neither read nor written.
template <class Lanes_>
struct Part {
  using Lanes = Lanes_;
  using Stored = typename Lanes::Stored;
  using StoredTag = typename Lanes::StoredTag;

  explicit Part(std::size_t lanes) : mask(hn::FirstN(StoredTag(), lanes)) {}

  HWY_INLINE typename Lanes::Vector read(const Stored* from) const {
    return Lanes::widen(hn::MaskedLoad(mask, StoredTag(), from));
  }
  HWY_INLINE void write(hn::Vec<StoredTag> value, Stored* to) const { hn::BlendedStore(value, mask, StoredTag(), to); }
  HWY_INLINE void copy(const Stored* from, Stored* to) const { write(hn::MaskedLoad(mask, StoredTag(), from), to); }

  hn::Mask<StoredTag> mask;
};

/// A block of an operand, from element i on.
template <class Access, std::size_t kVectors>
HWY_INLINE void read(const Access& access, const void* operand, std::size_t i,
                     typename Access::Lanes::Vector (&values)[kVectors]) {
  using Lanes = typename Access::Lanes;
  const auto* const from = static_cast<const typename Lanes::Stored*>(operand) + i;
  for (std::size_t k = 0; k < kVectors; ++k) values[k] = access.read(from + k * hn::Lanes(typename Lanes::Tag()));
}

/// As many operands as the compiler knows: their pointers stay in registers, and so do all sums.
template <std::size_t kOperands>
class Fixed {
 public:
  static constexpr bool kReadsFew = kOperands <= 2;

  explicit Fixed(const ReduceArguments& arguments) {
    for (std::size_t s = 0; s < kOperands; ++s) operands_[s] = arguments.operands[s];
  }

  /// sums[k] = the tree over vector k of the block that begins at element i.
  template <class Combine, class Access, std::size_t kVectors>
  HWY_INLINE void sum(const Access& access, std::size_t i, typename Access::Lanes::Vector (&sums)[kVectors]) const {
    tree<Combine, 0, kOperands>(access, i, sums);
  }

 private:
  template <class Combine, std::size_t kFirst, std::size_t kCount, class Access, std::size_t kVectors>
  HWY_INLINE void tree(const Access& access, std::size_t i, typename Access::Lanes::Vector (&sums)[kVectors]) const {
    if constexpr (kCount == 1) {
      read(access, operands_[kFirst], i, sums);
    } else {
      constexpr std::size_t kLeft = std::bit_ceil(kCount) / 2;
      tree<Combine, kFirst, kLeft>(access, i, sums);
      typename Access::Lanes::Vector right[kVectors];
      tree<Combine, kFirst + kLeft, kCount - kLeft>(access, i, right);
      for (std::size_t k = 0; k < kVectors; ++k) sums[k] = Combine()(sums[k], right[k]);
    }
  }

  const void* operands_[kOperands];
};

/// Any number of operands, by counting in binary: each that arrives is combined with the sums of as many operands as
/// its number ends in ones, and what is left at the end is combined from the last to the first.
class Counted {
 public:
  static constexpr bool kReadsFew = false;

  explicit Counted(const ReduceArguments& arguments)
      : operands_(arguments.operands), operand_count_(arguments.operand_count) {}

  template <class Combine, class Access, std::size_t kVectors>
  HWY_INLINE void sum(const Access& access, std::size_t i, typename Access::Lanes::Vector (&sums)[kVectors]) const {
    typename Access::Lanes::Vector waiting[kLevels][kVectors];
    std::size_t depth = 0;
    read(access, operands_[0], i, sums);
    for (std::size_t s = 1; s < operand_count_; ++s) {
      for (std::size_t k = 0; k < kVectors; ++k) waiting[depth][k] = sums[k];
      ++depth;
      read(access, operands_[s], i, sums);
      for (std::size_t ones = s; (ones & 1) != 0; ones >>= 1) take<Combine>(waiting[--depth], sums);
    }
    while (depth > 0) take<Combine>(waiting[--depth], sums);
  }

 private:
  /// Sums that wait, at most: one for each bit of the number of operands.
  static constexpr std::size_t kLevels = 32;

  template <class Combine, class Vector, std::size_t kVectors>
  static HWY_INLINE void take(const Vector (&left)[kVectors], Vector (&sums)[kVectors]) {
    for (std::size_t k = 0; k < kVectors; ++k) sums[k] = Combine()(left[k], sums[k]);
  }

  const void* const* operands_;
  std::size_t operand_count_;
};

}  // namespace lockstep::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // LOCKSTEP_KERNELS_REDUCE_TREE_INL_H_
