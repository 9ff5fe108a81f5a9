#include "runtime/staging_twins.h"

#include "base/index.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace lockstep {

StagingTwins::StagingTwins(const Schedule& schedule, const Versions& versions) {
  struct Staged {
    int step;  ///< that makes it
    Plan::Stage stage;
  };
  std::map<std::pair<int, int>, std::vector<Staged>> from_to;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      const auto& all = versions.of(rank, chunk);
      for (int number = 0; number < static_cast<int>(all.size()); ++number) {
        const Versions::Version& version = all[at(number)];
        if (version.readers.size() != 1) continue;
        from_to[{rank, version.readers.front().rank}].push_back(
            {version.step, {.rank = rank, .chunk = chunk, .version = number}});
      }
    }
  }
  // Twins are made in the same order.
  const auto is_earlier = [](const Staged& a, const Staged& b) {
    return std::tie(a.step, a.stage) < std::tie(b.step, b.stage);
  };
  for (auto& [ends, values] : from_to) std::sort(values.begin(), values.end(), is_earlier);
  for (const auto& [ends, there] : from_to) {
    const auto back = from_to.find({ends.second, ends.first});
    if (back == from_to.end()) continue;
    for (std::size_t i = 0; i < std::min(there.size(), back->second.size()); ++i) {
      twins_.emplace(there[i].stage, back->second[i].stage);
    }
  }
}

std::optional<Plan::Stage> StagingTwins::of(const Plan::Stage& value) const {
  const auto twin = twins_.find(value);
  if (twin == twins_.end()) return std::nullopt;
  return twin->second;
}

}  // namespace lockstep
