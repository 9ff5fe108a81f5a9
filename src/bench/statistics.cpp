#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace lockstep::bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto needed = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::min(std::max<std::size_t>(needed, 1), values.size()) - 1];
}

std::vector<double> without_nan(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values;
}

double error_of_median(const std::vector<double>& logarithms) {
  constexpr double kNormal = 1.4826;  // standard deviations in a median one
  constexpr double kMedian = 1.2533;  // of the error of a mean, as much as that has
  constexpr double kLeast = 0.005;
  constexpr double kUnknown = 0.1;
  if (logarithms.size() < kFewestReadings) return kUnknown;
  std::vector<double> deviations;
  deviations.reserve(logarithms.size());
  const double middle = median(logarithms);
  for (const double one : logarithms) deviations.push_back(std::abs(one - middle));
  return std::max(kLeast, kMedian * kNormal * median(deviations) / std::sqrt(static_cast<double>(logarithms.size())));
}

}  // namespace lockstep::bench
