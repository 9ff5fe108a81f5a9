#pragma once

#include <lockstep/types.h>

#include <cstddef>
#include <vector>

namespace lockstep {

/// Alignment of gradients in a bucket, in bytes: a cache line.
inline constexpr std::size_t kSlotAlignment = 64;

/// What the layout needs to know of a parameter's gradient.
struct GradientSize {
  std::size_t bytes = 0;
  DataType dtype = DataType::kFloat32;
};

/// A gradient's place in a bucket.
struct Slot {
  std::size_t parameter = 0;  ///< index into the list of sizes
  std::size_t offset = 0;     ///< bytes, a multiple of kSlotAlignment
  bool operator==(const Slot&) const = default;
};

/// Which gradients a bucket holds, and where.
struct BucketLayout {
  DataType dtype = DataType::kFloat32;
  std::size_t bytes = 0;  ///< with the gaps; a multiple of kSlotAlignment
  std::vector<Slot> slots;
  bool operator==(const BucketLayout&) const = default;
};

struct BucketLimits {
  std::size_t first = 0;   ///< bytes of the first bucket of a data type
  std::size_t others = 0;  ///< bytes of the ones after it
};

/// Lays gradients out in buckets in `order` (a permutation of the indices of `sizes`: the order in which gradients
/// come). A bucket has one data type and holds at most its limit, unless one gradient alone is larger. Buckets come in
/// the order in which they get full.
std::vector<BucketLayout> lay_out(const std::vector<GradientSize>& sizes, const std::vector<std::size_t>& order,
                                  BucketLimits limits);

}  // namespace lockstep
