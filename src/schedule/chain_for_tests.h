#pragma once

#include "schedule/builder.h"

#include <optional>

namespace lockstep {

/// Rank 2's sum reaches rank 0 through rank 1, and the result comes straight back; of the whole, or one rank's part.
inline Schedule chain(std::optional<int> only_rank = std::nullopt) {
  ScheduleBuilder s({.name = "chain", .ranks = 3, .chunks = 1, .only_rank = only_rank});
  s.reduce(0, {.from = 2, .to = 1});
  s.end_step();
  s.reduce(0, {.from = 1, .to = 0});
  s.end_step();
  s.copy(0, {.from = 0, .to = 1});
  s.copy(0, {.from = 0, .to = 2});
  return s.take();
}

}  // namespace lockstep
