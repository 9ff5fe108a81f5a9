// Compiled once for each instruction set that Highway knows here; the best that the machine has is chosen at run time.
#include "kernels/reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce.cpp"
// Nothing here needs what they add to AVX3 and to SSSE3, and each takes ten seconds to compile.
#ifndef HWY_DISABLED_TARGETS  // a build with sanitizers leaves out more (CMakeLists.txt)
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSE4)
#endif
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include "kernels/copy.h"
#include "kernels/float_mode.h"
#include "kernels/reduce_lanes-inl.h"
#include "kernels/reduce_tree-inl.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace lockstep::kernels::HWY_NAMESPACE {

struct Sum {
  template <class V>
  V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};

struct Product {
  template <class V>
  V operator()(V a, V b) const {
    using T = hn::TFromV<V>;
    if constexpr (sizeof(T) == 1 && hn::MaxLanes(hn::DFromV<V>()) == 1) {
      return hn::Set(hn::DFromV<V>(), static_cast<T>(hn::GetLane(a) * hn::GetLane(b)));  // no vectors at all here
    } else if constexpr (sizeof(T) == 1) {
      return multiply_bytes(a, b);
    } else {
      return hn::Mul(a, b);
    }
  }

  /// Bytes cannot be multiplied in place: those of even number as the low, those of odd number as the high half of 16
  /// bits.
  template <class V>
  static V multiply_bytes(V a, V b) {
    const hn::DFromV<V> bytes;
    const hn::Repartition<std::uint16_t, decltype(bytes)> pairs;
    const auto x = hn::BitCast(pairs, a);
    const auto y = hn::BitCast(pairs, b);
    const auto even = hn::And(hn::Mul(x, y), hn::Set(pairs, 0xff));
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(x), hn::ShiftRight<8>(y)));
    return hn::BitCast(bytes, hn::Or(even, odd));
  }
};

struct Min {
  template <class V>
  V operator()(V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      // Neither is less: equal, where the `or` of the bits is -0 if either is; or a NaN, which stays one.
      return hn::IfThenElse(hn::Lt(a, b), a, hn::IfThenElse(hn::Lt(b, a), b, hn::Or(a, b)));
    } else {
      return hn::Min(a, b);
    }
  }
};

struct Max {
  template <class V>
  V operator()(V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::Neg(Min()(hn::Neg(a), hn::Neg(b)));
    } else {
      return hn::Max(a, b);
    }
  }
};

inline bool is_aligned(const void* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

/// The line at `address`, where there may be no memory, comes as this core's own.
inline void fetch_to_write(std::uintptr_t address) {
#if HWY_ARCH_X86
  // What the builtin becomes is a fetch to read, unless the compiler may assume more of the processor. One that does
  // not know the instruction does nothing.
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(reinterpret_cast<const void*>(address), 1);
#endif
}

/// One pass over the memory: `Tree` says how many operands there are.
template <class Lanes, class Combine, class Tree>
class Pass {
 public:
  explicit Pass(const ReduceArguments& arguments)
      : targets_(arguments.targets),
        target_count_(arguments.target_count),
        count_(arguments.count),
        divide_by_(arguments.divide_by),
        copy_target_(static_cast<Stored*>(arguments.copy_target)),
        copy_source_(static_cast<const Stored*>(arguments.copy_source)),
        streamed_targets_(kStreams ? arguments.streamed_targets : 0),
        asks_early_(arguments.asks_early),
        tree_(arguments) {}

  HWY_INLINE void run() const {
    const Lanes lanes(divide_by_);
    std::size_t i = 0;
    if (streamed_targets_ > 0) {
      i = std::min(before_a_line(), count_);
      vectors(lanes, 0, i);
    }
    if constexpr (Tree::kReadsFew) i = in_two_places(lanes, i);
    for (const std::size_t step = kUnroll * width(); i + step <= count_; i += step) {
      block<kUnroll>(Whole<Lanes>(), lanes, i);
    }
    vectors(lanes, i, count_);
    if (streamed_targets_ > 0) hwy::FlushStream();
  }

 private:
  using Stored = typename Lanes::Stored;
  using StoredTag = typename Lanes::StoredTag;
  /// As many independent chains of operations, and cache lines of an operand read in a row.
  static constexpr std::size_t kUnroll = 4;
  static constexpr std::size_t kLineBytes = 64;
  /// How far ahead a target is asked for: 1 and 2 KiB are no better (docs/design/staging.md).
  static constexpr std::size_t kAheadBytes = 512;
  /// Highway's Stream writes 16 bytes where a vector has fewer.
  static constexpr bool kStreams = hn::MaxLanes(StoredTag()) * sizeof(Stored) >= 16;

  static HWY_INLINE std::size_t width() { return hn::Lanes(StoredTag()); }

  /// Goes through most of what is from element i on, in two places at once, and returns where the rest begins. What a
  /// core fetches ahead ends with the page, so that it fetches more from two places. Each has instructions of its own:
  /// where one instruction reads in both, a core may take their distance for a stride and fetch, beyond the second,
  /// what another core writes. They lie whole pages and a half apart: a core that compares the low bits of addresses
  /// first takes what it reads at the same place of another page for what it has just written (docs/design/staging.md).
  /// Half a page must be a whole number of steps, which it is not where vectors have more than 512 bytes.
  HWY_INLINE std::size_t in_two_places(const Lanes& lanes, std::size_t i) const {
    constexpr std::size_t kPage = 4096;
    const std::size_t pages = (count_ - i) * sizeof(Stored) / (2 * kPage);
    if (pages == 0 || (kPage / 2) % (kUnroll * width() * sizeof(Stored)) != 0) return i;
    const std::size_t apart = (pages * kPage - kPage / 2) / sizeof(Stored);
    const std::size_t second = i + apart;
    for (const std::size_t step = kUnroll * width(); i < second; i += step) {
      block<kUnroll>(Whole<Lanes>(), lanes, i);
      block<kUnroll>(Whole<Lanes>(), lanes, i + apart);
    }
    return second + apart;
  }

  /// Asks for the lines that are written when this block and some more are.
  static HWY_INLINE void ask_ahead_of(const void* block) {
    const auto first = reinterpret_cast<std::uintptr_t>(block) + kAheadBytes;
    for (std::size_t at = 0; at < kUnroll * width() * sizeof(Stored); at += kLineBytes) fetch_to_write(first + at);
  }

  /// Elements before the first target's first whole cache line.
  HWY_INLINE std::size_t before_a_line() const {
    const auto past = reinterpret_cast<std::uintptr_t>(targets_[0]) % kLineBytes;
    return (kLineBytes - past) % kLineBytes / sizeof(Stored);
  }

  /// From element i to the end, one vector at a time.
  HWY_INLINE void vectors(const Lanes& lanes, std::size_t i, std::size_t end) const {
    for (; i + width() <= end; i += width()) block<1>(Whole<Lanes>(), lanes, i);
    if (i == end) return;
#if HWY_MEM_OPS_MIGHT_FAULT
    using One = typename Lanes::template Resized<Single>;
    for (; i < end; ++i) block<1>(Whole<One>(), One(divide_by_), i);
#else
    block<1>(Part<Lanes>(end - i), lanes, i);
#endif
  }

  template <std::size_t kVectors, class Access>
  HWY_INLINE void block(const Access& access, const typename Access::Lanes& lanes, std::size_t i) const {
    typename Access::Lanes::Vector sums[kVectors];
    tree_.template sum<Combine>(access, i, sums);
    hn::Vec<typename Access::StoredTag> results[kVectors];
    for (std::size_t k = 0; k < kVectors; ++k) results[k] = lanes.finish(sums[k]);
    for (std::size_t t = 0; t < target_count_; ++t) {
      auto* const to = static_cast<Stored*>(targets_[t]) + i;
      if (kVectors == kUnroll && t < streamed_targets_ && is_aligned(to, width() * sizeof(Stored))) {
        for (std::size_t k = 0; k < kVectors; ++k)
          hn::Stream(results[k], typename Access::StoredTag(), to + k * width());
      } else {
        if (kVectors == kUnroll && asks_early_) ask_ahead_of(to);
        for (std::size_t k = 0; k < kVectors; ++k) access.write(results[k], to + k * width());
      }
    }
    if (copy_target_ == nullptr) return;
    for (std::size_t k = 0; k < kVectors; ++k)
      access.copy(copy_source_ + i + k * width(), copy_target_ + i + k * width());
  }

  void* const* targets_;
  std::size_t target_count_;
  std::size_t count_;
  int divide_by_;
  Stored* copy_target_;
  const Stored* copy_source_;
  std::size_t streamed_targets_;
  bool asks_early_;
  Tree tree_;
};

template <class Lanes, class Combine, std::size_t kOperands>
void reduce_fixed(const ReduceArguments& arguments) {
  Pass<Lanes, Combine, Fixed<kOperands>>(arguments).run();
}

template <class Lanes, class Combine>
void reduce_counted(const ReduceArguments& arguments) {
  Pass<Lanes, Combine, Counted>(arguments).run();
}

template <class Lanes, class Combine>
void reduce_with(const ReduceArguments& arguments) {
  // Sums of floats are what training does; the others get by with one loop more.
  constexpr bool kOften = std::is_same_v<Combine, Sum> && hwy::IsFloat<hn::TFromD<typename Lanes::Tag>>();
  if (arguments.operand_count == 2) return reduce_fixed<Lanes, Combine, 2>(arguments);
  if constexpr (kOften) {
    switch (arguments.operand_count) {
      case 3: return reduce_fixed<Lanes, Combine, 3>(arguments);
      case 4: return reduce_fixed<Lanes, Combine, 4>(arguments);
      case 5: return reduce_fixed<Lanes, Combine, 5>(arguments);
      case 6: return reduce_fixed<Lanes, Combine, 6>(arguments);
      case 7: return reduce_fixed<Lanes, Combine, 7>(arguments);
      case 8: return reduce_fixed<Lanes, Combine, 8>(arguments);
      default: break;
    }
  }
  reduce_counted<Lanes, Combine>(arguments);
}

template <class Lanes>
void reduce_elements(const ReduceArguments& arguments) {
  switch (arguments.op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean: return reduce_with<Lanes, Sum>(arguments);
    case ReduceOp::kMin: return reduce_with<Lanes, Min>(arguments);
    case ReduceOp::kMax: return reduce_with<Lanes, Max>(arguments);
    case ReduceOp::kProduct: return reduce_with<Lanes, Product>(arguments);
  }
}

/// One operand, undivided: its bytes, whatever they mean.
void copy_to_all(ReduceArguments arguments) {
  arguments.count *= size_of(arguments.dtype);
  arguments.dtype = DataType::kUInt8;
  reduce_fixed<IntegerLanes<std::uint8_t, Full>, Sum, 1>(arguments);
}

void reduce_here(const ReduceArguments& arguments) {
  if (arguments.operand_count == 1 && arguments.divide_by == 1) return copy_to_all(arguments);
  switch (arguments.dtype) {
    case DataType::kFloat32: return reduce_elements<FloatLanes<float, Full>>(arguments);
    case DataType::kFloat64: return reduce_elements<FloatLanes<double, Full>>(arguments);
    case DataType::kBFloat16: return reduce_elements<HalfLanes<BFloat16, Full>>(arguments);
    case DataType::kFloat16: return reduce_elements<HalfLanes<Float16, Full>>(arguments);
    case DataType::kInt32: return reduce_elements<IntegerLanes<std::int32_t, Full>>(arguments);
    case DataType::kInt64: return reduce_elements<IntegerLanes<std::int64_t, Full>>(arguments);
    case DataType::kUInt8: return reduce_elements<IntegerLanes<std::uint8_t, Full>>(arguments);
  }
}

}  // namespace lockstep::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep::kernels {

HWY_EXPORT(reduce_here);

void reduce(const ReduceArguments& arguments) {
  const DefaultFloatMode mode;
  HWY_DYNAMIC_DISPATCH(reduce_here)(arguments);
}

namespace {

/// From some KiB on, the C library's memcpy is one `rep movsb`, which AMD's Zen 3 and 4 run a byte at a time where the
/// target begins, within a page, less than a vector behind the source: 3 GB/s instead of 50 (`kernels_speed copies`).
bool memcpy_may_crawl(const void* target, const void* source, std::size_t bytes) {
  constexpr std::size_t kFewest = 2048;
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::uintptr_t kVector = 16;
  const auto behind = (reinterpret_cast<std::uintptr_t>(target) - reinterpret_cast<std::uintptr_t>(source)) % kPage;
  return bytes >= kFewest && behind > 0 && behind < kVector;
}

/// From as much on as a core's own cache has, the C library's memcpy stores vector by vector on AMD's processors, and
/// so waits for each line that another core has read, where `rep movsb` takes them without what they held
/// (docs/design/staging.md). In parts of less it never does.
void copy_in_parts(void* target, const void* source, std::size_t bytes) {
  constexpr std::size_t kPart = std::size_t{256} << 10;
  for (std::size_t done = 0; done < bytes; done += kPart) {
    std::memcpy(static_cast<std::byte*>(target) + done, static_cast<const std::byte*>(source) + done,
                std::min(kPart, bytes - done));
  }
}

}  // namespace

void copy(void* target, const void* source, std::size_t bytes, bool streaming) {
  if (bytes == 0) return;
  if (!streaming && !memcpy_may_crawl(target, source, bytes)) {
    copy_in_parts(target, source, bytes);
    return;
  }
  reduce({.targets = &target,
          .target_count = 1,
          .operands = &source,
          .operand_count = 1,
          .count = bytes,
          .dtype = DataType::kUInt8,
          .op = ReduceOp::kSum,
          .streamed_targets = streaming ? 1U : 0U});
}

}  // namespace lockstep::kernels
#endif
