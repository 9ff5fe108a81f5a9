#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

/// What was measured, taken apart: row r says how much of each cost is in measurement r.
using Amounts = std::vector<std::vector<double>>;

/// The price of each cost, 0 or above, by which the rows come nearest to `totals`, which are above 0: the least sum of
/// relative errors (nearly; of their squares where they are below 20 %), so that rows that something else disturbed
/// count little. A cost that is in no row is 0. All rows have as many costs.
///
/// Least squares by coordinate descent, again and again with the errors of the time before as weights (iteratively
/// reweighted least squares, Huber's weights).
std::vector<double> fit_relative(const Amounts& amounts, const std::vector<double>& totals);

}  // namespace lockstep
