#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace lockstep {

/// A point in time of cores that are run in time, and what was spent on the way that led to it. `Costs` is a
/// CostVector.
template <class Costs>
struct Moment {
  double seconds = 0;
  Costs spent;

  /// `of_price`: the share of the price that it takes this time.
  void spend(std::size_t cost, double amount, const Costs& prices, double of_price = 1) {
    spent[cost] += amount;
    seconds += amount * prices[cost] * of_price;
  }
};

/// How many of the cores but this one are `busy(core)`; 1 if all are.
template <class Core, class Busy>
double share_of_others(const std::vector<Core>& cores, const Core& but, const Busy& busy) {
  if (cores.size() < 2) return 0;
  const auto counts = [&](const Core& core) { return &core != &but && busy(core); };
  return static_cast<double>(std::count_if(cores.begin(), cores.end(), counts)) / static_cast<double>(cores.size() - 1);
}

/// Where the core is that has come furthest.
template <class Core>
auto latest(const std::vector<Core>& cores) {
  return std::max_element(cores.begin(), cores.end(),
                          [](const Core& one, const Core& other) { return one.now.seconds < other.now.seconds; })
      ->now;
}

/// Operations that follow each other: until all ranks have fallen into step, and those that are counted.
struct Length {
  int starting;
  int counted;
  bool from_barrier = false;  ///< whether all cores begin together with those that are counted
};

/// What one of so many operations costs that lie between two moments. The chains that led to the two may differ, so
/// that one has less of something than the other.
template <class Costs>
Costs cost_between(const Moment<Costs>& begin, const Moment<Costs>& end, int operations) {
  Costs costs;
  for (std::size_t i = 0; i < Costs::kCount; ++i) costs[i] = std::max(0.0, end.spent[i] - begin.spent[i]) / operations;
  return costs;
}

/// What one operation of those counted costs. `run_until(over, entered)` lets ranks enter so many until so many are
/// over on all of them, `meet()` has all cores go on together and says when, and `ends` is when each operation was
/// over.
template <class Costs, class RunUntil, class Meet>
Costs cost_of(const Length& length, std::vector<Moment<Costs>>& ends, const RunUntil& run_until, const Meet& meet) {
  const auto starting = static_cast<std::size_t>(length.starting);
  const int counted = length.starting + length.counted;
  ends.resize(starting + static_cast<std::size_t>(length.counted) + 1);
  if (length.from_barrier) run_until(length.starting, length.starting);
  const auto met = length.from_barrier ? std::optional(meet()) : std::nullopt;
  run_until(counted, met ? counted : counted + 1);  // in the end too, whoever is ahead is in the next one
  return cost_between(met ? *met : ends[starting - 1], ends[static_cast<std::size_t>(counted) - 1], length.counted);
}

}  // namespace lockstep
