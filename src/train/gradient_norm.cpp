#include "train/gradient_norm.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep {
namespace {

/// In several sums at once, which is what a vector unit wants and what keeps the rounding small.
template <class T>
double sum_of_squares(const T* values, std::int64_t count) {
  std::array<double, 16> sums{};
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(sums.size()) <= count; i += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      const double value = values[i + static_cast<std::int64_t>(lane)];
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) sums[0] += static_cast<double>(values[i]) * values[i];
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

double sum_of_squares(const torch::Tensor& values) {
  const auto dense = values.is_non_overlapping_and_dense() ? values : values.contiguous();
  if (dense.scalar_type() == torch::kFloat64) return sum_of_squares(dense.data_ptr<double>(), dense.numel());
  const auto single = dense.to(torch::kFloat32);
  return sum_of_squares(single.data_ptr<float>(), single.numel());
}

double gradient_norm(const Group& group, const std::vector<torch::Tensor>& parameters) {
  torch::NoGradGuard no_grad;
  std::int64_t elements = 0;
  for (const auto& parameter : parameters) elements += parameter.numel();
  const std::int64_t first = elements * group.rank() / group.size();
  const std::int64_t last = elements * (group.rank() + 1) / group.size();

  std::vector<double> sum{0};
  std::int64_t at = 0;
  for (const auto& parameter : parameters) {
    if (parameter.grad().defined() && parameter.grad().is_sparse()) {
      if (group.rank() == 0) sum[0] += sum_of_squares(parameter.grad().coalesce().values());
      at += parameter.numel();
      continue;
    }
    const std::int64_t begin = std::max(first, at);
    const std::int64_t end = std::min(last, at + parameter.numel());
    if (begin < end && parameter.grad().defined()) {
      sum[0] += sum_of_squares(parameter.grad().flatten().narrow(0, begin - at, end - begin));
    }
    at += parameter.numel();
  }
  group.all_reduce(buffer_of(sum), ReduceOp::kSum, {.purpose = "norm of the gradients"}).wait();
  return std::sqrt(sum[0]);
}

void require_norm(double max_norm) {
  if (max_norm > 0) return;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("clip_grad_norm({}): a norm is above 0.", max_norm));
}

void clip(const std::vector<torch::Tensor>& parameters, double norm, double max_norm) {
  if (!std::isfinite(norm) || norm <= max_norm) return;
  for (const auto& parameter : parameters) {
    if (parameter.grad().defined()) parameter.grad().mul_(max_norm / norm);
  }
}

}  // namespace lockstep
