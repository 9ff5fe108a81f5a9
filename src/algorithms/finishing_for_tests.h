#pragma once

#include "schedule/concrete_for_tests.h"
#include "schedule/view.h"

#include <vector>

namespace lockstep {

/// Runs the schedule as a runtime does that reads views only: sums are finished (here: marked) where finishing_steps
/// says, and whoever is promised a chunk must end with exactly one mark.
inline bool finishes_once(const Schedule& schedule) {
  std::vector<std::vector<int>> finishing;
  for (int rank = 0; rank < schedule.ranks; ++rank) finishing.push_back(finishing_steps(view_of(schedule, rank)));
  std::vector<std::vector<int>> marks(schedule.ranks, std::vector<int>(schedule.chunks));
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const auto& [kind, chunk, from, to] : schedule.steps[step]) {
      if (kind == TransferKind::kCopy) marks[to][chunk] = marks[from][chunk];
      if (kind == TransferKind::kReduce && marks[from][chunk] != 0) return false;  // finished too early
    }
    for (int rank = 0; rank < schedule.ranks; ++rank) {
      for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
        if (finishing[rank][chunk] == static_cast<int>(step)) ++marks[rank][chunk];
      }
    }
  }
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
      if (concrete::is_promised(schedule, rank, chunk) && marks[rank][chunk] != 1) return false;
    }
  }
  return true;
}

}  // namespace lockstep
