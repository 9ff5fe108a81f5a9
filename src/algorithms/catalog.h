#pragma once

#include "schedule/schedule.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What a person asks an algorithm for.
struct ScheduleRequest {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  int root = 0;                                 ///< broadcast only
  std::optional<int> only_rank = std::nullopt;  ///< one rank's view; the whole schedule without it
};

/// One algorithm of the catalogue: its name as typed by a person, a line about it, and the function that writes it.
struct Algorithm {
  std::string_view name;
  std::string_view description;
  Schedule (*build)(const ScheduleRequest& request);
};

/// Every algorithm, in the order that lists print them.
const std::vector<Algorithm>& algorithms();

/// The algorithm of that name. Throws Error (kInvalidArgument) naming the nearest right word.
const Algorithm& find_algorithm(std::string_view name);

/// What "auto" stands for. (The planner will choose by size and topology.)
const Algorithm& default_algorithm(Collective collective);

}  // namespace lockstep
