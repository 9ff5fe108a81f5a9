#include "planner/calibration/predicted_selection.h"

#include "algorithms/catalog.h"
#include "planner/calibration/calibrated_timing.h"
#include "schedule/promise.h"

#include <string>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

/// One algorithm's schedule is built once for all sizes.
struct Candidate {
  std::string name;
  CalibratedTiming timing;
};

std::vector<Candidate> candidates(const Calibration& calibration, Collective collective, int ranks) {
  std::vector<Candidate> found;
  // What is built in comes first: where nothing is better by more than noise, it stays.
  const std::string first = select(built_in_selection(ranks), collective, 0);
  for (const std::string_view name : algorithms_for(collective)) {
    const auto place = name == first ? found.begin() : found.end();
    Schedule schedule = find_algorithm(name).build({.collective = collective, .ranks = ranks});
    found.insert(place, {std::string(name), CalibratedTiming(calibration, Medium::kSharedMemory, std::move(schedule))});
  }
  return found;
}

}  // namespace

Selection predicted_selection(const Calibration& calibration, int ranks) {
  constexpr std::uint64_t kFirstBytes = 64;
  constexpr std::uint64_t kLastBytes = std::uint64_t{1} << 30;
  constexpr double kBetter = 0.97;
  if (ranks > kMostSelectedRanks) return built_in_selection(ranks);
  Selection selection;
  for (const Collective collective : kCollectives) {
    const std::vector<Candidate> all = candidates(calibration, collective, ranks);
    if (all.empty()) continue;
    std::vector<Selection::Range> ranges;
    const Candidate* chosen = &all.front();
    for (std::uint64_t bytes = kFirstBytes; bytes <= kLastBytes; bytes *= 2) {
      const auto size = collective == Collective::kBarrier ? 0.0 : static_cast<double>(bytes);
      double least = kBetter * chosen->timing.seconds({size});
      for (const Candidate& candidate : all) {
        const double seconds = candidate.timing.seconds({size});
        if (seconds >= least) continue;
        least = seconds;
        chosen = &candidate;
      }
      ranges.push_back({ranges.empty() ? 0 : bytes, chosen->name});
    }
    selection.set(collective, ranges);
  }
  return selection;
}

}  // namespace lockstep
