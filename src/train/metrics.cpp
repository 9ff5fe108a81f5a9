#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/metrics.h>

#include <algorithm>

namespace lockstep {

Metrics::Metrics(Group group, std::vector<std::string> names)
    : group_(std::move(group)), names_(std::move(names)), sums_(2 * names_.size()) {}

void Metrics::add(const std::string& name, double mean, std::int64_t count) {
  const auto place = std::find(names_.begin(), names_.end(), name);
  if (place == names_.end()) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("add(\"{}\"): these metrics are {}; name them all when they "
                                                         "are made, so that every rank has the same.",
                                                         name, fmt::join(names_, ", ")));
  }
  if (count < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("add(\"{}\", ..., {}): a number of samples cannot be negative.", name, count));
  }
  if (count == 0) return;
  const auto index = static_cast<std::size_t>(place - names_.begin());
  sums_[index] += mean * static_cast<double>(count);
  sums_[names_.size() + index] += static_cast<double>(count);
}

std::vector<std::pair<std::string, double>> Metrics::reduce() {
  group_.all_reduce(buffer_of(sums_), ReduceOp::kSum, {.purpose = "metrics"}).wait();
  std::vector<std::pair<std::string, double>> means;
  for (std::size_t i = 0; i < names_.size(); ++i) means.emplace_back(names_[i], sums_[i] / sums_[names_.size() + i]);
  std::fill(sums_.begin(), sums_.end(), 0.0);
  return means;
}

}  // namespace lockstep
