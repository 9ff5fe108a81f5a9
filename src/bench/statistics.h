#pragma once

#include <vector>

namespace lockstep::bench {

/// The middle value, or the mean of the two in the middle; 0 of nothing.
double median(std::vector<double> values);
/// The smallest value that at least `share` (0 to 1) of the values do not exceed (nearest rank); 0 of nothing.
double percentile(std::vector<double> values, double share);

}  // namespace lockstep::bench
