#pragma once

#include <lockstep/types.h>

#include <array>
#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

namespace lockstep::conformance {

using Bytes = std::vector<unsigned char>;

/// What ranks bring.
enum class Values : std::uint8_t {
  kExact,   ///< the reduction is exact, so the same in whatever order the contributions are combined
  kOrder,   ///< permutations of large, small, -large, small: a sum of floats depends on the order
  kAnyBits  ///< NaNs with payloads, infinities, zeros of both signs, denormals
};

inline constexpr std::array kDataTypes{DataType::kFloat32, DataType::kFloat64, DataType::kBFloat16, DataType::kFloat16,
                                       DataType::kInt32,   DataType::kInt64,   DataType::kUInt8};
inline constexpr std::array kReduceOps{ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin, ReduceOp::kMax,
                                       ReduceOp::kProduct};

bool is_floating(DataType dtype);

/// The contributions of a world's ranks for every data type and operator, and the oracle: their reduction, one element
/// at a time, along the canonical tree. They repeat after a prime number of elements, so that one period of each is
/// enough for buffers of any size, and whatever lies at a wrong place shows.
class Inputs {
 public:
  static constexpr std::size_t kPeriod = 1021;

  explicit Inputs(int ranks);

  int ranks() const { return ranks_; }
  /// A period of what the rank brings.
  const Bytes& of(int rank, Values values, DataType dtype, ReduceOp op) const;
  /// A period of what comes of all ranks'.
  const Bytes& reduced(Values values, DataType dtype, ReduceOp op) const;

 private:
  using Key = std::tuple<Values, DataType, ReduceOp>;
  struct Entry {
    std::vector<Bytes> contributions;  ///< by rank
    Bytes reduced;
  };
  int ranks_;
  std::map<Key, Entry> entries_;
};

/// Writes the elements [first, first + count) of an endless repetition of the period.
void write(const Bytes& period, std::size_t element_bytes, std::size_t first, std::size_t count, void* to);

/// The first of `count` elements that differs from that, or `count`.
std::size_t first_difference(const Bytes& period, std::size_t element_bytes, std::size_t first, std::size_t count,
                             const void* actual);

}  // namespace lockstep::conformance
