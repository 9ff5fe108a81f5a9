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

/// The bytes that rank `source` has for rank `destination` in an all_to_all_v: `counts[s * ranks + d]` elements from
/// rank s for rank d. Each byte of a block is another than the one before it, and than the same of another pair of up
/// to eight ranks.
inline std::vector<unsigned char> block_of(int source, int destination, int ranks,
                                           const std::vector<std::size_t>& counts, DataType dtype) {
  const std::size_t first = static_cast<std::size_t>(8 * source + destination) * 53;
  std::vector<unsigned char> bytes(counts[static_cast<std::size_t>(source * ranks + destination)] * size_of(dtype));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(first + 11 * i + i / 256);
  return bytes;
}

/// All that `rank` sends in one, or gets.
inline std::vector<unsigned char> blocks_of(int rank, int ranks, const std::vector<std::size_t>& counts, DataType dtype,
                                            bool sends) {
  std::vector<unsigned char> bytes;
  for (int other = 0; other < ranks; ++other) {
    const auto block = block_of(sends ? rank : other, sends ? other : rank, ranks, counts, dtype);
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  return bytes;
}

}  // namespace lockstep::conformance
