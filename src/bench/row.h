#pragma once

#include "bench/pattern.h"
#include "bench/result.h"

#include <lockstep/world.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::bench {

/// What one rank saw of one algorithm at one size.
struct RankTimes {
  std::vector<double> seconds;  ///< of an operation, for each iteration; rounds of as many follow each other
  std::size_t rounds = 1;
  std::uint64_t wrong = 0;  ///< elements
};

/// The largest of the ranks' numbers, place by place: on all of them the same.
std::vector<double> slowest(const World& world, std::vector<double> values);

/// Writes into the row, which knows its bytes, what all ranks saw together of a shape. Each of them calls it.
void sum_up(const World& world, const Shape& shape, const RankTimes& times, Row& row);

}  // namespace lockstep::bench
