#include "lab/learning_rate.h"

#include <cmath>

namespace lockstep::lab {

double LearningRate::at(std::int64_t iteration) const {
  const std::int64_t updates = iteration - 1;  // before this one
  if (updates < warmup) return peak * static_cast<double>(iteration) / static_cast<double>(warmup + 1);
  if (updates >= decay) return minimum;
  const double progress = static_cast<double>(updates - warmup) / static_cast<double>(decay - warmup);
  return minimum + 0.5 * (1 + std::cos(std::acos(-1.0) * progress)) * (peak - minimum);
}

}  // namespace lockstep::lab
