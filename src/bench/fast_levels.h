#pragma once

#include <vector>

namespace lockstep::bench {

/// What the fastest quarter of rounds adds to each of several sizes, in ascending order, as if all of them had had the
/// same rounds. `added[size][round]` are logarithms, NaN where there is none; all rows are of one length. Machines are
/// slow for a while, and a size that was measured more often then than the next has a slower quarter, although both
/// take as long. So what two neighbours differ by in the rounds that both had counts beside the quarter of each, both
/// by their errors: weighted least squares. NaN of a size without rounds.
std::vector<double> fast_levels(const std::vector<std::vector<double>>& added);

/// The quarter of one size: what the fastest quarter of these, its rounds, exceeds.
double fastest_quarter(const std::vector<double>& rounds);

}  // namespace lockstep::bench
