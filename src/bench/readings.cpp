#include "bench/readings.h"

#include "bench/median_polish.h"
#include "bench/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace lockstep::bench {

namespace {

/// Two threads of one core are half as far from each other as two cores that share a cache, and those that share none
/// four times as far: it is the last that makes another machine of it.
constexpr double kAlike = 3;

bool is_as_usual(const Reading& reading, double usual_distance) {
  const auto [less, more] = std::minmax(reading.distance, usual_distance);
  return more <= kAlike * less;
}

/// Logarithms of seconds, by round; NaN where there is no reading that counts.
std::vector<std::vector<double>> table_of(const std::vector<std::vector<Reading>>& points, double usual_distance) {
  int rounds = 0;
  for (const auto& readings : points) {
    for (const Reading& reading : readings) rounds = std::max(rounds, reading.round + 1);
  }
  std::vector<std::vector<double>> table;
  table.reserve(points.size());
  for (const auto& readings : points) {
    std::vector<double>& row =
        table.emplace_back(static_cast<std::size_t>(rounds), std::numeric_limits<double>::quiet_NaN());
    for (const Reading& reading : readings) {
      if (is_as_usual(reading, usual_distance))
        row[static_cast<std::size_t>(reading.round)] = std::log(reading.seconds);
    }
  }
  return table;
}

/// Whether there are enough, and every second one says the same as the others.
bool agree(const std::vector<double>& logarithms) {
  constexpr double kSame = 1.05;
  constexpr std::size_t kFewest = 3;
  if (logarithms.size() < kFewest) return false;
  std::array<std::vector<double>, 2> halves;
  for (std::size_t i = 0; i < logarithms.size(); ++i) halves[i % 2].push_back(logarithms[i]);
  return std::abs(median(halves[0]) - median(halves[1])) <= std::log(kSame);
}

double median_of_seconds(const std::vector<Reading>& readings, bool as_usual, double usual_distance) {
  std::vector<double> seconds;
  for (const Reading& reading : readings) {
    if (is_as_usual(reading, usual_distance) == as_usual) seconds.push_back(reading.seconds);
  }
  return median(seconds);
}

}  // namespace

std::vector<Finding> findings_of(const std::vector<std::vector<Reading>>& points, double usual_distance) {
  constexpr double kFast = 0.25;
  const std::vector<std::vector<double>> table = table_of(points, usual_distance);
  const Polished polished = median_polish(table);
  std::vector<double> rounds = polished.rounds;
  std::erase_if(rounds, [](double round) { return std::isnan(round); });
  const double fast = percentile(rounds, kFast);
  std::vector<Finding> findings;
  findings.reserve(points.size());
  for (std::size_t point = 0; point < points.size(); ++point) {
    std::vector<double> told;  // from the rounds
    for (std::size_t round = 0; round < polished.rounds.size(); ++round) {
      const double one = table[point][round] - polished.rounds[round];
      if (!std::isnan(one)) told.push_back(one);
    }
    Finding& finding = findings.emplace_back();
    finding.is_clear = agree(told);
    finding.other_state_s = median_of_seconds(points[point], false, usual_distance);
    if (!told.empty()) {
      finding.seconds = std::exp(polished.things[point] + fast);
    } else {
      const double as_usual = median_of_seconds(points[point], true, usual_distance);
      finding.seconds = as_usual > 0 ? as_usual : finding.other_state_s;
    }
  }
  return findings;
}

}  // namespace lockstep::bench
