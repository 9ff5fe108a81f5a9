#include <lockstep/optim.h>

#include <algorithm>
#include <cmath>

namespace lockstep {

double LearningRate::at(std::int64_t iteration) const {
  const std::int64_t updates = iteration - 1;  // before this one
  if (updates < warmup) return peak * static_cast<double>(iteration) / static_cast<double>(warmup + 1);
  if (decay == Decay::kNone) return peak;
  if (decay == Decay::kStep) {
    const auto passed = std::lower_bound(milestones.begin(), milestones.end(), iteration) - milestones.begin();
    return std::max(minimum, peak * std::pow(factor, static_cast<double>(passed)));
  }
  if (updates >= end) return minimum;
  const double progress = static_cast<double>(updates - warmup) / static_cast<double>(end - warmup);
  const double left =
      decay == Decay::kCosine ? 0.5 * (1 + std::cos(std::acos(-1.0) * progress)) : std::pow(1 - progress, power);
  return minimum + left * (peak - minimum);
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

double scaled_linearly(double rate, std::int64_t base_batch, std::int64_t global_batch) {
  return rate * static_cast<double>(global_batch) / static_cast<double>(base_batch);
}

double scaled_by_square_root(double rate, std::int64_t base_batch, std::int64_t global_batch) {
  return rate * std::sqrt(static_cast<double>(global_batch) / static_cast<double>(base_batch));
}

std::int64_t BatchWarmup::at(std::int64_t iteration) const {
  const std::int64_t updates = iteration - 1;  // before this one
  if (updates >= iterations) return last;
  return first + (last - first) * updates / iterations;
}

}  // namespace lockstep
