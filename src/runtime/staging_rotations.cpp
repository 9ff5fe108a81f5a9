#include "runtime/staging_rotations.h"

#include "base/index.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lockstep {

namespace {

struct Staged {
  int step;  ///< that makes it
  Plan::Stage stage;

  friend auto operator<=>(const Staged&, const Staged&) = default;
};

/// What is staged for one reader, by writer and reader, in the order in which it is made.
std::map<std::pair<int, int>, std::vector<Staged>> staged_for_one(const Schedule& schedule, const Versions& versions) {
  std::map<std::pair<int, int>, std::vector<Staged>> values;
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      const auto& all = versions.of(rank, chunk);
      for (int number = 0; number < static_cast<int>(all.size()); ++number) {
        const Versions::Version& version = all[at(number)];
        if (version.readers.size() != 1) continue;
        values[{rank, version.readers.front().rank}].push_back(
            {version.step, {.rank = rank, .chunk = chunk, .version = number}});
      }
    }
  }
  for (auto& [ends, staged] : values) std::sort(staged.begin(), staged.end());
  return values;
}

}  // namespace

StagingRotations::StagingRotations(const Schedule& schedule, const Versions& versions) {
  const auto values = staged_for_one(schedule, versions);
  Successors trades;
  std::map<int, std::vector<Staged>> written;  // by the rank, what has nothing to trade with
  std::map<int, std::vector<Staged>> read;
  for (const auto& [ends, there] : values) {
    const auto back = values.find({ends.second, ends.first});
    const std::size_t pairs = back == values.end() ? 0 : std::min(there.size(), back->second.size());
    for (std::size_t i = 0; i < pairs; ++i) trades.emplace(there[i].stage, back->second[i].stage);
    for (std::size_t i = pairs; i < there.size(); ++i) {
      written[ends.first].push_back(there[i]);
      read[ends.second].push_back(there[i]);
    }
  }
  add_cycles(trades);
  Successors around;
  for (auto& [rank, own] : written) {
    std::vector<Staged>& others = read[rank];
    std::sort(own.begin(), own.end());
    std::sort(others.begin(), others.end());
    for (std::size_t i = 0; i < std::min(own.size(), others.size()); ++i) around.emplace(own[i].stage, others[i].stage);
  }
  add_cycles(around);
}

void StagingRotations::add_cycles(const Successors& successors) {
  for (const auto& [first, second] : successors) {
    Plan::Rotation rotation;
    auto next = successors.find(first);
    while (next != successors.end() && seats_.emplace(next->first, Plan::Seat{}).second) {
      rotation.push_back(next->first);
      next = successors.find(next->second);
    }
    const bool is_cycle = !rotation.empty() && next != successors.end() && next->first == rotation.front();
    if (!is_cycle) continue;
    for (std::size_t i = 0; i < rotation.size(); ++i) {
      seats_[rotation[i]] = {.rotation = static_cast<int>(rotations_.size()), .position = static_cast<int>(i)};
    }
    rotations_.push_back(std::move(rotation));
  }
}

Plan::Seat StagingRotations::of(const Plan::Stage& value) const {
  const auto seat = seats_.find(value);
  return seat == seats_.end() ? Plan::Seat{} : seat->second;
}

Plan::Stage StagingRotations::next(const Plan::Stage& value) const {
  const Plan::Seat seat = of(value);
  if (!seat.rotates()) return value;
  const Plan::Rotation& rotation = rotations_[at(seat.rotation)];
  return rotation[at(seat.position + 1) % rotation.size()];
}

}  // namespace lockstep
