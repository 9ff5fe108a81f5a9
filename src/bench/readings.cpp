#include "bench/readings.h"

#include "bench/median_polish.h"
#include "bench/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
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

/// Whether a reading counts.
using Counts = std::function<bool(const Reading& reading)>;
using Points = std::vector<std::vector<Reading>>;

/// Logarithms of seconds, by round; NaN where there is no reading that counts.
std::vector<std::vector<double>> table_of(const Points& points, const Counts& counts) {
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
      if (counts(reading)) row[static_cast<std::size_t>(reading.round)] = std::log(reading.seconds);
    }
  }
  return table;
}

/// Of fewer nobody knows by how much they differ.
constexpr std::size_t kFewestReadings = 3;

/// Whether there are enough, and every second one says the same as the others: by their `of`, as the median.
bool agree(const std::vector<double>& logarithms, const std::function<double(const std::vector<double>&)>& of) {
  constexpr double kSame = 1.05;
  if (logarithms.size() < kFewestReadings) return false;
  std::array<std::vector<double>, 2> halves;
  for (std::size_t i = 0; i < logarithms.size(); ++i) halves[i % 2].push_back(logarithms[i]);
  return std::abs(of(halves[0]) - of(halves[1])) <= std::log(kSame);
}

/// Of each point the logarithms that it has by itself, once what its round added to all is taken off, and what the
/// fastest quarter of the rounds adds.
struct ToldApart {
  std::vector<std::vector<double>> logarithms;
  double fast = 0;
  bool is_fast_clear = false;  ///< from enough rounds that say the same
};
ToldApart told_apart(const Points& points, const Counts& counts) {
  const auto fastest_quarter = [](const std::vector<double>& rounds) { return percentile(rounds, 0.25); };
  const std::vector<std::vector<double>> table = table_of(points, counts);
  const Polished polished = median_polish(table);
  ToldApart told;
  for (const std::vector<double>& row : table) {
    std::vector<double>& logarithms = told.logarithms.emplace_back();
    for (std::size_t round = 0; round < row.size(); ++round) {
      const double one = row[round] - polished.rounds[round];
      if (!std::isnan(one)) logarithms.push_back(one);
    }
  }
  std::vector<double> rounds = polished.rounds;
  std::erase_if(rounds, [](double round) { return std::isnan(round); });
  told.fast = fastest_quarter(rounds);
  told.is_fast_clear = agree(rounds, fastest_quarter);
  return told;
}

constexpr double kUnknownError = 0.1;

/// Of the median, as of a normal distribution whose median deviation is theirs; never so little that a few readings
/// which happen to be alike would be taken for certain.
double error_of_median(const std::vector<double>& logarithms) {
  constexpr double kNormal = 1.4826;  // standard deviations in a median one
  constexpr double kMedian = 1.2533;  // of the error of a mean, as much as that has
  constexpr double kLeast = 0.005;
  if (logarithms.size() < kFewestReadings) return kUnknownError;
  std::vector<double> deviations;
  deviations.reserve(logarithms.size());
  const double middle = median(logarithms);
  for (const double one : logarithms) deviations.push_back(std::abs(one - middle));
  return std::max(kLeast, kMedian * kNormal * median(deviations) / std::sqrt(static_cast<double>(logarithms.size())));
}

Found found_in(const ToldApart& told, std::size_t point) {
  const std::vector<double>& logarithms = told.logarithms[point];
  return {.seconds = std::exp(median(logarithms) + told.fast), .error = error_of_median(logarithms)};
}

double median_of_seconds(const std::vector<Reading>& readings) {
  std::vector<double> seconds;
  seconds.reserve(readings.size());
  for (const Reading& reading : readings) seconds.push_back(reading.seconds);
  return median(seconds);
}

}  // namespace

std::vector<Finding> findings_of(const Points& points, double usual_distance) {
  const auto is_usual = [&](const Reading& reading) { return is_as_usual(reading, usual_distance); };
  const ToldApart usual = told_apart(points, is_usual);
  const ToldApart other = told_apart(points, [&](const Reading& reading) { return !is_usual(reading); });
  std::vector<Finding> findings;
  findings.reserve(points.size());
  for (std::size_t point = 0; point < points.size(); ++point) {
    Finding& finding = findings.emplace_back();
    finding.is_clear = usual.is_fast_clear && agree(usual.logarithms[point], median);
    if (other.logarithms[point].size() >= kFewestReadings) finding.other = found_in(other, point);
    const bool has_usual = !usual.logarithms[point].empty();
    finding.usual = has_usual ? found_in(usual, point) : Found{median_of_seconds(points[point]), kUnknownError};
  }
  return findings;
}

}  // namespace lockstep::bench
