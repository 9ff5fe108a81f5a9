#pragma once

#include <lockstep/types.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lockstep::conformance {

/// What a message carries: other numbers for another sender, and for another `number`.
inline std::vector<std::int32_t> message(int from, int number, std::size_t count) {
  std::vector<std::int32_t> values(count);
  std::iota(values.begin(), values.end(), 1000 * from + number);
  return values;
}

/// The bytes that `rank` sends, or gets, in an all_to_all_v: `counts[s * ranks + d]` elements from rank s for rank d.
/// Each byte of a block is another than the one before it, and than the same of another pair of up to eight ranks.
inline std::vector<unsigned char> blocks_of(int rank, int ranks, const std::vector<std::size_t>& counts, DataType dtype,
                                            bool sends) {
  std::vector<unsigned char> bytes;
  for (int other = 0; other < ranks; ++other) {
    const int source = sends ? rank : other;
    const int destination = sends ? other : rank;
    const std::size_t first = static_cast<std::size_t>(8 * source + destination) * 53;
    const std::size_t begin = bytes.size();
    const std::size_t count = counts[static_cast<std::size_t>(source * ranks + destination)] * size_of(dtype);
    bytes.resize(begin + count);
    for (std::size_t i = 0; i < count; ++i) bytes[begin + i] = static_cast<unsigned char>(first + 11 * i + i / 256);
  }
  return bytes;
}

}  // namespace lockstep::conformance
