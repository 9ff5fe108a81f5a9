#pragma once

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

/// What `rank` sends, or gets, in an all_to_all_v: `counts[s * ranks + d]` elements from rank s for rank d.
inline std::vector<std::int32_t> blocks_of(int rank, int ranks, const std::vector<std::size_t>& counts, bool sends) {
  std::vector<std::int32_t> values;
  for (int other = 0; other < ranks; ++other) {
    const int source = sends ? rank : other;
    const int destination = sends ? other : rank;
    const auto count = static_cast<std::int32_t>(counts[static_cast<std::size_t>(source * ranks + destination)]);
    const std::int32_t first = source * 100'000'000 + destination * 10'000'000;
    for (std::int32_t i = 0; i < count; ++i) values.push_back(first + i);
  }
  return values;
}

}  // namespace lockstep::conformance
