#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/optim.h>

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

double scale(std::int64_t base_batch, std::int64_t global_batch, const char* function) {
  if (base_batch < 1 || global_batch < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} was asked to go from batches of {} samples to batches of {}; a batch has at least one.",
                            function, base_batch, global_batch));
  }
  return static_cast<double>(global_batch) / static_cast<double>(base_batch);
}

}  // namespace

double LearningRate::at(std::int64_t iteration) const {
  const bool needs_end = decay == Decay::kCosine || decay == Decay::kPolynomial;
  if (needs_end && end < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("LearningRate: {} ends after {} iterations; set `end` to the iterations of the training, "
                            "warm-up included.",
                            decay == Decay::kCosine ? "a cosine decay" : "a polynomial decay", end));
  }
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
  return rate * scale(base_batch, global_batch, "scaled_linearly");
}

double scaled_by_square_root(double rate, std::int64_t base_batch, std::int64_t global_batch) {
  return rate * std::sqrt(scale(base_batch, global_batch, "scaled_by_square_root"));
}

std::int64_t BatchWarmup::at(std::int64_t iteration) const {
  const std::int64_t updates = iteration - 1;  // before this one
  if (updates >= iterations) return last;
  return first + (last - first) * updates / iterations;
}

}  // namespace lockstep
