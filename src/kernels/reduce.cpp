// Compiled once for each instruction set that Highway knows here; the best that the machine has is chosen at run time.
#include "kernels/reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway asks.
#include "kernels/reduce_lanes-inl.h"
#include "kernels/reduce_scalar.h"

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
    const hn::ScalableTag<std::uint8_t> bytes;
    const hn::ScalableTag<std::uint16_t> pairs;
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

/// Blocks of kUnroll vectors: as many independent chains of operations, held in registers while all sources go by.
template <class Lanes, class Combine, std::size_t kUnroll>
std::size_t reduce_blocks(std::size_t first, const ReduceArguments& arguments) {
  using Stored = typename Lanes::Stored;
  const Lanes lanes(arguments.divide_by);
  const Combine combine;
  const std::size_t width = hn::Lanes(typename Lanes::Tag());
  auto* const target = static_cast<Stored*>(arguments.target);
  std::size_t i = first;
  for (; i + kUnroll * width <= arguments.count; i += kUnroll * width) {
    typename Lanes::Vector sums[kUnroll];
    for (std::size_t k = 0; k < kUnroll; ++k) sums[k] = lanes.load(target + i + k * width);
    for (std::size_t s = 0; s < arguments.source_count; ++s) {
      const auto* const source = static_cast<const Stored*>(arguments.sources[s]) + i;
      for (std::size_t k = 0; k < kUnroll; ++k) sums[k] = combine(sums[k], lanes.load(source + k * width));
    }
    for (std::size_t k = 0; k < kUnroll; ++k) lanes.finish(sums[k], target + i + k * width);
  }
  return i;
}

template <class Lanes, class Combine>
void reduce_with(const ReduceArguments& arguments) {
  std::size_t done = reduce_blocks<Lanes, Combine, 4>(0, arguments);
  done = reduce_blocks<Lanes, Combine, 1>(done, arguments);
  reduce_scalar_from(done, arguments);
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

void reduce_here(const ReduceArguments& arguments) {
  switch (arguments.dtype) {
    case DataType::kFloat32: return reduce_elements<FloatLanes<float>>(arguments);
    case DataType::kFloat64: return reduce_elements<FloatLanes<double>>(arguments);
    case DataType::kBFloat16: return reduce_elements<HalfLanes<BFloat16>>(arguments);
    case DataType::kFloat16: return reduce_elements<HalfLanes<Float16>>(arguments);
    case DataType::kInt32: return reduce_elements<IntegerLanes<std::int32_t>>(arguments);
    case DataType::kInt64: return reduce_elements<IntegerLanes<std::int64_t>>(arguments);
    case DataType::kUInt8: return reduce_elements<IntegerLanes<std::uint8_t>>(arguments);
  }
}

}  // namespace lockstep::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep::kernels {

HWY_EXPORT(reduce_here);

void reduce(const ReduceArguments& arguments) { HWY_DYNAMIC_DISPATCH(reduce_here)(arguments); }

}  // namespace lockstep::kernels
#endif
