#include "bench/median_polish.h"

#include "bench/statistics.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace lockstep::bench {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// The median of fewer is one of them, and what a thing did alone would be its round's.
constexpr std::size_t kFewestThings = 3;

/// Of at least so many that there are.
double median_of(std::vector<double> values, std::size_t fewest) {
  values = without_nan(std::move(values));
  return values.size() < fewest ? kNone : median(values);
}

}  // namespace

Polished median_polish(const std::vector<std::vector<double>>& table) {
  constexpr int kTurns = 10;  // far more than it takes to settle
  const std::size_t length = table.empty() ? 0 : table.front().size();
  Polished found{std::vector<double>(table.size()), std::vector<double>(length)};
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t thing = 0; thing < table.size(); ++thing) {
      std::vector<double> rest(length);
      for (std::size_t round = 0; round < length; ++round) rest[round] = table[thing][round] - found.rounds[round];
      found.things[thing] = median_of(rest, 1);
    }
    for (std::size_t round = 0; round < length; ++round) {
      std::vector<double> rest(table.size());
      for (std::size_t thing = 0; thing < table.size(); ++thing)
        rest[thing] = table[thing][round] - found.things[thing];
      found.rounds[round] = median_of(rest, std::min(kFewestThings, table.size()));
    }
    const double middle = median_of(found.rounds, 1);
    for (double& round : found.rounds) round -= middle;
    for (double& thing : found.things) thing += middle;
  }
  return found;
}

}  // namespace lockstep::bench
