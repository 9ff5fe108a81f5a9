#include "planner/selection/measured_selection.h"

#include "schedule/promise.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

/// So much must be won in all, over the sizes of a range, by what differs from its neighbours.
constexpr double kLossOfAChange = 0.03;

struct Time {
  double seconds = 0;
  double error = 0;  ///< the standard error of its logarithm
};

/// By bytes and algorithm.
using Times = std::map<double, std::map<std::string, Time>>;

/// Of both states the geometric mean, whose logarithm is the mean of the two: so losses are, too.
Time in_both(const Sample& sample) {
  return {.seconds = std::sqrt(sample.seconds * sample.other_state_s),
          .error = std::hypot(sample.error, sample.other_state_error) / 2};
}

Times times_of(const std::vector<Sample>& samples, Collective collective, int ranks, MemoryKind memory) {
  std::map<double, std::vector<const Sample*>> by_bytes;
  for (const Sample& sample : samples) {
    if (sample.collective == collective && sample.ranks == ranks && sample.memory == memory)
      by_bytes[sample.bytes].push_back(&sample);
  }
  Times times;
  for (const auto& [bytes, at_a_size] : by_bytes) {
    const bool all_in_both =
        std::all_of(at_a_size.begin(), at_a_size.end(), [](const Sample* sample) { return sample->other_state_s > 0; });
    for (const Sample* sample : at_a_size)
      times[bytes][sample->algorithm] = all_in_both ? in_both(*sample) : Time{sample->seconds, sample->error};
  }
  return times;
}

std::optional<Time> find(const std::map<std::string, Time>& times, const std::string& algorithm) {
  const auto found = times.find(algorithm);
  return found == times.end() ? std::nullopt : std::optional(found->second);
}

/// Rounded so that a person can read it.
std::uint64_t round_bytes(double bytes) {
  const double unit = std::exp2(std::max(0.0, std::floor(std::log2(bytes)) - 2));
  return static_cast<std::uint64_t>(std::round(bytes / unit) * unit);
}

using Measured = Times::value_type;

/// Between the two sizes, where `next` begins to be faster than `last`, which it is at the second; halfway where not
/// both were measured at both.
std::uint64_t crossing(const Measured& below, const Measured& above, const std::string& last, const std::string& next) {
  double place = 0.5;
  const auto last_below = find(below.second, last);
  const auto next_below = find(below.second, next);
  const auto last_above = find(above.second, last);
  const auto next_above = find(above.second, next);
  if (last_below && next_below && last_above && next_above) {
    const double behind = std::max(0.0, std::log(next_below->seconds / last_below->seconds));
    const double ahead = std::max(0.0, std::log(last_above->seconds / next_above->seconds));
    if (behind + ahead > 0) place = behind / (behind + ahead);
  }
  return round_bytes(below.first * std::pow(above.first / below.first, place));
}

/// What one loses at a size by an algorithm: the logarithm of its time over the least, as far as it is more than noise
/// makes of nothing, else a tenth of it; infinite where it was not measured.
double loss(const Measured& measured, const std::string& algorithm) {
  constexpr double kOfDoubtful = 0.1;
  const auto time = find(measured.second, algorithm);
  if (!time) return std::numeric_limits<double>::infinity();
  Time least = *time;
  for (const auto& [name, other] : measured.second) {
    if (other.seconds < least.seconds) least = other;
  }
  const double lost = std::log(time->seconds / least.seconds);
  return std::max(lost - std::hypot(time->error, least.error), kOfDoubtful * lost);
}

/// The way through all sizes on which least is lost, each change counted as a loss too (Viterbi's algorithm).
std::vector<std::string> least_losses(const Times& times, const std::string& built_in) {
  struct Way {
    double lost = 0;
    std::vector<std::string> algorithms;
  };
  std::map<std::string, Way> ways{{built_in, {}}};  // by where they have come
  for (const Measured& measured : times) {
    std::map<std::string, Way> longer;
    for (const auto& [algorithm, time] : measured.second) {
      Way best{std::numeric_limits<double>::infinity(), {}};
      for (const auto& [last, way] : ways) {
        const double lost = way.lost + (last == algorithm ? 0 : kLossOfAChange);
        if (lost < best.lost) best = {lost, way.algorithms};
      }
      best.lost += loss(measured, algorithm);
      best.algorithms.push_back(algorithm);
      longer[algorithm] = std::move(best);
    }
    ways = std::move(longer);
  }
  return std::min_element(ways.begin(), ways.end(),
                          [](const auto& a, const auto& b) { return a.second.lost < b.second.lost; })
      ->second.algorithms;
}

std::vector<Selection::Range> ranges_of(const Times& times, const std::string& built_in) {
  const std::vector<std::string> algorithms = least_losses(times, built_in);
  std::vector<Selection::Range> ranges{{0, algorithms.front()}};
  auto below = times.begin();
  for (std::size_t i = 1; i < algorithms.size(); ++i, ++below) {
    if (algorithms[i] == algorithms[i - 1]) continue;
    const std::uint64_t from = crossing(*below, *std::next(below), algorithms[i - 1], algorithms[i]);
    ranges.push_back({std::max(from, ranges.back().from_bytes + 1), algorithms[i]});
  }
  return ranges;
}

}  // namespace

Selection measured_selection(const std::vector<Sample>& samples, int ranks, const Selection& built_in) {
  Selection selection;
  for (const Collective collective : kCollectives) {
    for (const MemoryKind memory : {MemoryKind::kRegistered, MemoryKind::kPlain}) {
      const Times times = times_of(samples, collective, ranks, memory);
      if (times.empty()) continue;
      const std::string first = select(built_in, collective, 0, memory);
      selection.set(collective, ranges_of(times, first), memory);
    }
  }
  return selection;
}

}  // namespace lockstep
