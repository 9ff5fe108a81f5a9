#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace lockstep {

/// Element type of a collective. The 16-bit floats are IEEE binary16 and bfloat16; both are reduced in float32.
enum class DataType : std::uint8_t { kFloat32, kFloat64, kBFloat16, kFloat16, kInt32, kInt64, kUInt8 };

/// How contributions combine. `kMean` is the sum divided by the group's size; integers round toward zero, and
/// where their sum does not fit the type it wraps before it is divided (200 and 200 in uint8: 72).
enum class ReduceOp : std::uint8_t { kSum, kMean, kMin, kMax, kProduct };

/// The collectives that schedules describe. All of them work in place on one buffer:
///   all_reduce      n elements in, the reduction of all ranks' n elements out
///   reduce_scatter  size() blocks in, this rank's own block holds the reduction, the other blocks are undefined
///   all_gather      this rank's own block in, all size() blocks out
///   broadcast       the root's n elements end on every rank
///   reduce          all_reduce's result, on the root only; the other ranks' elements are undefined
///   gather          this rank's own block in, all size() blocks out on the root; undefined on the other ranks
///   scatter         the root's size() blocks in, this rank's own block out, the other blocks are undefined
///   all_to_all      size() blocks in, block d for rank d; size() blocks out, block s from rank s
///   barrier         no elements: nobody leaves before everybody has entered
enum class Collective : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kBarrier
};

/// Bytes of one element.
constexpr std::size_t size_of(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat64:
    case DataType::kInt64: return 8;
    case DataType::kFloat32:
    case DataType::kInt32: return 4;
    case DataType::kBFloat16:
    case DataType::kFloat16: return 2;
    case DataType::kUInt8: return 1;
  }
  return 0;
}

/// The name that messages and the command line use: "float32", "sum", "all_reduce".
std::string_view to_string(DataType dtype);
std::string_view to_string(ReduceOp op);
std::string_view to_string(Collective collective);

/// The DataType of a C++ type: of float, double, std::uint8_t, and int, long and long long by their size. The 16-bit
/// floats have no C++17 type: name them by their DataType.
template <class T>
constexpr DataType data_type_of() {
  constexpr bool kIsSigned = std::is_same_v<T, int> || std::is_same_v<T, long> || std::is_same_v<T, long long>;
  if constexpr (std::is_same_v<T, float>) {
    return DataType::kFloat32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DataType::kFloat64;
  } else if constexpr (kIsSigned && sizeof(T) == size_of(DataType::kInt32)) {
    return DataType::kInt32;
  } else if constexpr (kIsSigned && sizeof(T) == size_of(DataType::kInt64)) {
    return DataType::kInt64;
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>,
                  "no collective takes this element type: float, double, int32_t, int64_t or uint8_t");
    return DataType::kUInt8;
  }
}

}  // namespace lockstep
