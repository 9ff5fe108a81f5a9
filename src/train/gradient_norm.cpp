#include "train/gradient_norm.h"

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

double sum_of_squares(const torch::Tensor& flat) {
  if (flat.scalar_type() == torch::kFloat64) return sum_of_squares(flat.data_ptr<double>(), flat.numel());
  const auto single = flat.to(torch::kFloat32);
  return sum_of_squares(single.data_ptr<float>(), single.numel());
}

}  // namespace

double gradient_norm(const Group& group, const std::vector<torch::Tensor>& parameters) {
  torch::NoGradGuard no_grad;
  std::int64_t elements = 0;
  for (const auto& parameter : parameters) elements += parameter.numel();
  const std::int64_t first = elements * group.rank() / group.size();
  const std::int64_t last = elements * (group.rank() + 1) / group.size();

  std::vector<double> sum{0};
  std::int64_t at = 0;
  for (const auto& parameter : parameters) {
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

}  // namespace lockstep
