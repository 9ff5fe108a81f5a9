#include "planner/calibration/residual_curve.h"

#include "algorithms/catalog.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace lockstep {

namespace {

bool is_of_the_catalogue(const Schedule& schedule) {
  const std::vector<std::string_view> names = algorithms_for(schedule.collective);
  if (std::find(names.begin(), names.end(), schedule.name) == names.end()) return false;
  return schedule == find_algorithm(schedule.name)
                         .build({.collective = schedule.collective, .ranks = schedule.ranks, .root = schedule.root});
}

bool tells(const Sample& sample, const Schedule& schedule) {
  return sample.collective == schedule.collective && sample.algorithm == schedule.name && sample.bytes > 0 &&
         sample.memory == MemoryKind::kRegistered && sample.predicted_s > 0;
}

double minmod(double a, double b) {
  if (a * b <= 0) return 0;
  return std::abs(a) < std::abs(b) ? a : b;
}

}  // namespace

ResidualCurve::ResidualCurve(const std::vector<Sample>& samples, const Schedule& schedule) {
  std::map<int, Points> by_ranks;
  for (const Sample& sample : samples) {
    if (!tells(sample, schedule)) continue;
    by_ranks[sample.ranks][std::log(sample.bytes)] = std::log(sample.seconds / sample.predicted_s);
  }
  const auto more = by_ranks.lower_bound(schedule.ranks);
  if (more == by_ranks.end() || !is_of_the_catalogue(schedule)) return;
  if (more->first == schedule.ranks) {
    points_ = more->second;
    return;
  }
  if (more == by_ranks.begin()) return;
  const auto fewer = std::prev(more);
  for (const Points* points : {&fewer->second, &more->second}) {
    for (const auto& [log_bytes, unused] : *points) {
      points_[log_bytes] = minmod(at(fewer->second, log_bytes), at(more->second, log_bytes));
    }
  }
}

double ResidualCurve::at(const Points& points, double log_bytes) {
  const auto above = points.lower_bound(log_bytes);
  if (above == points.end()) return std::prev(above)->second;
  if (above == points.begin()) return above->second;
  const auto below = std::prev(above);
  return std::lerp(below->second, above->second, (log_bytes - below->first) / (above->first - below->first));
}

double ResidualCurve::factor(double bytes) const {
  return points_.empty() || bytes <= 0 ? 1 : std::exp(at(points_, std::log(bytes)));
}

}  // namespace lockstep
