#include "bench/fast_levels.h"

#include "bench/statistics.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace lockstep::bench {

namespace {

constexpr double kNoLevel = std::numeric_limits<double>::quiet_NaN();

/// What is known of a level, or of what two differ by.
struct Told {
  double value = 0;
  double weight = 0;  ///< 0: nothing is
};

Told told(double value, const std::vector<double>& of) {
  if (of.empty()) return {};
  const double error = error_of_median(of);
  return {value, 1 / (error * error)};
}

/// The sum of weighted squares is least where A levels = b, of which these are the diagonal, what stands above and
/// below it, and b.
struct Chain {
  std::vector<double> diagonal, beside, right;
};

Chain chain_of(const std::vector<std::vector<double>>& added) {
  const std::size_t sizes = added.size();
  Chain chain{std::vector<double>(sizes), std::vector<double>(sizes), std::vector<double>(sizes)};
  for (std::size_t i = 0; i < sizes; ++i) {
    const std::vector<double> own = without_nan(added[i]);
    const Told quarter = told(fastest_quarter(own), own);
    chain.diagonal[i] += quarter.weight;
    chain.right[i] += quarter.weight * quarter.value;
    if (i + 1 == sizes) break;
    std::vector<double> differences(std::min(added[i].size(), added[i + 1].size()));
    for (std::size_t round = 0; round < differences.size(); ++round)
      differences[round] = added[i + 1][round] - added[i][round];
    differences = without_nan(std::move(differences));
    const Told difference = told(median(differences), differences);
    chain.diagonal[i] += difference.weight;
    chain.diagonal[i + 1] += difference.weight;
    chain.beside[i] = -difference.weight;
    chain.right[i] -= difference.weight * difference.value;
    chain.right[i + 1] += difference.weight * difference.value;
  }
  return chain;
}

/// Gauss's elimination, of what has nothing but a diagonal and what stands beside it.
std::vector<double> solved(Chain chain) {
  std::vector<double>& levels = chain.right;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    if (chain.beside[i - 1] == 0) continue;
    const double share = chain.beside[i - 1] / chain.diagonal[i - 1];
    chain.diagonal[i] -= share * chain.beside[i - 1];
    levels[i] -= share * levels[i - 1];
  }
  for (std::size_t i = levels.size(); i-- > 0;) {
    if (chain.beside[i] != 0) levels[i] -= chain.beside[i] * levels[i + 1];
    levels[i] = chain.diagonal[i] == 0 ? kNoLevel : levels[i] / chain.diagonal[i];
  }
  return levels;
}

}  // namespace

double fastest_quarter(const std::vector<double>& rounds) { return percentile(rounds, 0.25); }

std::vector<double> fast_levels(const std::vector<std::vector<double>>& added) { return solved(chain_of(added)); }

}  // namespace lockstep::bench
