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

void ResidualCurve::find_ways(const Schedule& like, int ranks, const std::optional<Machine>& memory_of) {
  ranks_ = ranks;
  if (!memory_of) return;
  most_letter_bytes_ =
      most_letter_bytes(find_algorithm(like.name).build({.collective = like.collective, .ranks = ranks}));
  most_cached_bytes_ = most_cached_bytes(*memory_of, ranks);
}

ResidualCurve::Way ResidualCurve::way_of(double bytes) const {
  if (bytes <= most_letter_bytes_) return kAsLetters;
  return bytes > most_cached_bytes_ ? kPastCaches : kAsPlans;
}

ResidualCurve::ResidualCurve(const std::vector<Sample>& samples, const Schedule& schedule,
                             const std::optional<Machine>& memory_of) {
  std::map<int, ResidualCurve> by_ranks;
  for (const Sample& sample : samples) {
    if (!tells(sample, schedule)) continue;
    const auto [place, is_new] = by_ranks.try_emplace(sample.ranks);
    ResidualCurve& one = place->second;
    if (is_new) one.find_ways(schedule, sample.ranks, memory_of);
    one.curves_[one.way_of(sample.bytes)][std::log(sample.bytes * sample.ranks)] =
        std::log(sample.seconds / sample.predicted_s);
  }
  const auto more = by_ranks.lower_bound(schedule.ranks);
  if (more == by_ranks.end() || !is_of_the_catalogue(schedule)) return;
  if (more->first == schedule.ranks) {
    *this = more->second;
    return;
  }
  if (more == by_ranks.begin()) return;
  const ResidualCurve& fewer = std::prev(more)->second;
  find_ways(schedule, schedule.ranks, memory_of);
  for (std::size_t way = 0; way < kWays; ++way) {
    curves_[way] = said_by_both(fewer.curves_[way], more->second.curves_[way]);
  }
}

double ResidualCurve::at(const Curve& curve, double log_bytes) {
  const auto above = curve.lower_bound(log_bytes);
  if (above == curve.end()) return std::prev(above)->second;
  if (above == curve.begin()) return above->second;
  const auto below = std::prev(above);
  return std::lerp(below->second, above->second, (log_bytes - below->first) / (above->first - below->first));
}

ResidualCurve::Curve ResidualCurve::said_by_both(const Curve& fewer, const Curve& more) {
  Curve both;
  if (fewer.empty() || more.empty()) return both;
  for (const Curve* one : {&fewer, &more}) {
    for (const auto& [log_bytes, unused] : *one) both[log_bytes] = minmod(at(fewer, log_bytes), at(more, log_bytes));
  }
  return both;
}

double ResidualCurve::factor(double bytes) const {
  const Curve& curve = curves_[way_of(bytes)];
  return curve.empty() || bytes <= 0 ? 1 : std::exp(at(curve, std::log(bytes * ranks_)));
}

}  // namespace lockstep
