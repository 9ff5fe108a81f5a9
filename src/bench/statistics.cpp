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

}  // namespace lockstep::bench
