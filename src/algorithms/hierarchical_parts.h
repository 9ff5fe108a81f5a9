#pragma once

#include "schedule/builder.h"

#include <optional>
#include <vector>

/// What compositions are put together from (hierarchical.cpp, hierarchical_stages.cpp).
namespace lockstep::algorithm {

/// An algorithm among some of the ranks.
struct Part {
  Schedule schedule;
  std::vector<int> ranks;                ///< who its ranks are
  std::vector<std::vector<int>> chunks;  ///< of the whole, for which each of its own stands
};

/// Parts that have no chunk of a rank in common; all of their transfers, or those of one kind.
void side_by_side(ScheduleBuilder& s, const std::vector<Part>& parts, std::optional<TransferKind> only = {});

}  // namespace lockstep::algorithm
