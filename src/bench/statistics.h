#pragma once

#include <cstddef>
#include <vector>

namespace lockstep::bench {

/// The middle value, or the mean of the two in the middle; 0 of nothing.
double median(std::vector<double> values);
/// The smallest value that at least `share` (0 to 1) of the values do not exceed (nearest rank); 0 of nothing.
double percentile(std::vector<double> values, double share);

/// Those that are there, of values of which NaN stands for none.
std::vector<double> without_nan(std::vector<double> values);

/// Of fewer nobody knows by how much they differ.
inline constexpr std::size_t kFewestReadings = 3;

/// The standard error of the median of logarithms, as of a normal distribution whose median deviation is theirs; never
/// so little that a few which happen to be alike would be taken for certain.
double error_of_median(const std::vector<double>& logarithms);

}  // namespace lockstep::bench
