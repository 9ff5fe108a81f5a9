#include "bench/readings.h"

#include "bench/fast_levels.h"
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

/// Whether there are enough, and every second one says the same as the others: by their `of`, as the median.
bool agree(const std::vector<double>& logarithms, const std::function<double(const std::vector<double>&)>& of) {
  constexpr double kSame = 1.05;
  if (logarithms.size() < kFewestReadings) return false;
  std::array<std::vector<double>, 2> halves;
  for (std::size_t i = 0; i < logarithms.size(); ++i) halves[i % 2].push_back(logarithms[i]);
  return std::abs(of(halves[0]) - of(halves[1])) <= std::log(kSame);
}

/// A size in one state of the machine: of each point the logarithms that it has by itself, once what its round added to
/// all is taken off, and what each round adds, NaN of one that tells nothing.
struct ToldApart {
  std::vector<std::vector<double>> logarithms;
  std::vector<double> added;
};

ToldApart told_apart(const Points& points, const Counts& counts) {
  const std::vector<std::vector<double>> table = table_of(points, counts);
  const Polished polished = median_polish(table);
  ToldApart told{.logarithms = {}, .added = polished.rounds};
  for (const std::vector<double>& row : table) {
    std::vector<double>& logarithms = told.logarithms.emplace_back();
    for (std::size_t round = 0; round < row.size(); ++round) {
      const double one = row[round] - polished.rounds[round];
      if (!std::isnan(one)) logarithms.push_back(one);
    }
  }
  return told;
}

/// All sizes in one state of the machine, and what the fast rounds add to each.
struct State {
  std::vector<ToldApart> sizes;
  std::vector<double> levels;

  Found found(std::size_t size, std::size_t point) const {
    const std::vector<double>& logarithms = sizes[size].logarithms[point];
    return {.seconds = std::exp(median(logarithms) + levels[size]), .error = error_of_median(logarithms)};
  }
};

State state_of(const std::vector<Points>& sizes, const Counts& counts) {
  State state;
  std::vector<std::vector<double>> added;
  for (const Points& points : sizes) {
    state.sizes.push_back(told_apart(points, counts));
    added.push_back(state.sizes.back().added);
  }
  state.levels = fast_levels(added);
  return state;
}

/// Whether enough rounds of a size are fast, and say the same.
bool is_fast_clear(const ToldApart& told) { return agree(without_nan(told.added), fastest_quarter); }

double median_of_seconds(const std::vector<Reading>& readings) {
  std::vector<double> seconds;
  seconds.reserve(readings.size());
  for (const Reading& reading : readings) seconds.push_back(reading.seconds);
  return median(seconds);
}

}  // namespace

std::vector<std::vector<Finding>> findings_of(const std::vector<Points>& sizes, double usual_distance) {
  const auto is_usual = [&](const Reading& reading) { return is_as_usual(reading, usual_distance); };
  const State usual = state_of(sizes, is_usual);
  const State other = state_of(sizes, [&](const Reading& reading) { return !is_usual(reading); });
  std::vector<std::vector<Finding>> findings;
  findings.reserve(sizes.size());
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    const bool is_clear = is_fast_clear(usual.sizes[size]);
    std::vector<Finding>& of_size = findings.emplace_back(sizes[size].size());
    for (std::size_t point = 0; point < of_size.size(); ++point) {
      const std::vector<double>& logarithms = usual.sizes[size].logarithms[point];
      Finding& finding = of_size[point];
      finding.is_clear = is_clear && agree(logarithms, median);
      finding.usual = logarithms.empty() ? Found{median_of_seconds(sizes[size][point]), error_of_median(logarithms)}
                                         : usual.found(size, point);
      if (other.sizes[size].logarithms[point].size() >= kFewestReadings) finding.other = other.found(size, point);
    }
  }
  return findings;
}

}  // namespace lockstep::bench
