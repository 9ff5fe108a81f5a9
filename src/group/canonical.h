#pragma once

#include "group/schedules.h"
#include "group/task.h"

#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace lockstep::detail {

/// Which schedules a canonical reduction may run: those that sum every element along the one binary tree over the ranks
/// (the proof says so) and, for 16-bit types, whose partial sums are never rounded on the way, because they bring all
/// contributions to one place at once. So the bits do not depend on which of them runs.
class Canonical {
 public:
  Canonical(Schedules& schedules, int rank) : schedules_(schedules), rank_(rank) {}

  /// The algorithm to run for what the caller asked: that one if it is admitted; for "auto" what LOCKSTEP_ALGORITHM
  /// asks for, if it is; without that the selected one or, where it is not admitted, of those that are the one that
  /// moves and combines least. Collectives that sum nothing run what was asked, or selected. Throws Error:
  /// kInvalidArgument naming one that is admitted, kUnsupported in a group of more ranks than are proved (kMostRanks in
  /// schedule/ranges.h).
  std::string choose(const Task& task, std::string_view asked, MemoryKind memory);

 private:
  /// What a whole schedule is looked through for, once: it may be long, and is not kept.
  struct Known {
    bool canonical = false;
    bool canonical_in_16_bits = false;
    double steps = 0;
    double most_of_buffer = 0;  ///< so many buffers the rank with the most work sends and combines
  };

  void require_provable(Collective collective) const;
  const Known& look_at(const std::string& name, const Task& task);
  bool admits(const std::string& name, const Task& task);
  double rough_cost(const std::string& name, const Task& task);
  std::string cheapest_admitted(const Task& task);

  Schedules& schedules_;
  int rank_;
  std::map<std::tuple<std::string, Collective, int>, Known> known_;  ///< by name, collective and root
};

/// What the environment asks for where a caller says nothing: LOCKSTEP_REDUCTION is "fast" (the default) or
/// "canonical". Throws Error (kInvalidArgument).
Reduction reduction_from_environment();

}  // namespace lockstep::detail
