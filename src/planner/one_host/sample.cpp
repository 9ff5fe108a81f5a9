#include "planner/one_host/sample.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

PredictionError error_of(const std::vector<Sample>& samples, const std::function<double(const Sample&)>& predicted) {
  std::vector<double> errors;
  errors.reserve(samples.size());
  for (const Sample& sample : samples) errors.push_back(std::abs(predicted(sample) - sample.seconds) / sample.seconds);
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {errors[errors.size() / 2], errors.back()};
}

}  // namespace lockstep
