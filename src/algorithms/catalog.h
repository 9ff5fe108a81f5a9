#pragma once

#include "schedule/schedule.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What a person asks an algorithm for.
struct ScheduleRequest {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int root = 0;                                 ///< where the collective has one (has_root in promise.h)
  std::optional<int> only_rank = std::nullopt;  ///< one rank's view; the whole schedule without it
};

/// One algorithm of the catalogue: its name as typed by a person, a line about it, the collectives that it does, and
/// the function that writes it.
struct Algorithm {
  std::string name;
  std::string description;
  std::vector<Collective> collectives;
  std::function<Schedule(const ScheduleRequest& request)> write;
  std::string use;  ///< when to choose it: completes "Use it ...", as the guide does

  bool supports(Collective collective) const;
  /// Throws Error (kInvalidArgument) if the algorithm does not do this collective, naming those that do, or if there is
  /// no such rank or root.
  Schedule build(const ScheduleRequest& request) const;
};

/// Every algorithm, in the order that lists print them.
const std::vector<Algorithm>& algorithms();

/// The names of those that do the collective.
std::vector<std::string_view> algorithms_for(Collective collective);

/// The algorithm of that name. Throws Error (kInvalidArgument) naming the nearest right word.
Algorithm find_algorithm(std::string_view name);

/// What "auto" stands for. (The planner will choose by size and topology.)
Algorithm default_algorithm(Collective collective);

}  // namespace lockstep
