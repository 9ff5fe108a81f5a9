#pragma once

#include <vector>

namespace lockstep::bench {

/// What the fastest quarter of rounds adds to each of several sizes, in ascending order, as if all of them had had the
/// same rounds. `added[size][round]` are logarithms, NaN or no more where there is none. Machines are slow for a while,
/// and of two sizes that take as long the one that was measured more often then has the slower quarter. So what two
/// neighbours differ by in the rounds that both had counts beside the quarter of each, by their errors: weighted least
/// squares. NaN of a size without rounds.
std::vector<double> fast_levels(const std::vector<std::vector<double>>& added);

/// Of a size's rounds: what the slowest of its fastest quarter adds.
double fastest_quarter(const std::vector<double>& rounds);

}  // namespace lockstep::bench
