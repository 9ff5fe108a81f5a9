#pragma once

#include "group/identity.h"
#include "planner/calibration/in_force.h"
#include "schedule/schedule.h"

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace lockstep::detail {

/// The schedules that a group runs, by the name that a caller gives: from the catalogue, or from a text that was
/// loaded.
class Schedules {
 public:
  /// "auto" is what follows from this calibration (planner/calibration/in_force.h) or, where ranks may use different
  /// numbers of cores, what is built in for the least of them; throws as selection_in_force().
  Schedules(const Identity& identity, Medium medium, const JobCalibration& calibration);

  int ranks() const { return ranks_; }

  /// A small number that stands for what the caller typed: the same text, the same number. Allocates for a new text
  /// only.
  int number_of(std::string_view asked);
  const std::string& text_of(int number) const { return asked_[static_cast<std::size_t>(number)]; }

  /// Proves the text of a schedule and keeps it under a name that no other has, which it returns. Throws Error:
  /// kRefused with the line or the rank, chunk and step; kInvalidArgument if it is for another number of ranks.
  std::string load(const std::string& text);

  /// The algorithm for `bytes` bytes that a caller's name stands for; "auto" is chosen here: what LOCKSTEP_ALGORITHM
  /// names, for collectives that this does, else what the selection says. "vendor" stands for itself, but in a group of
  /// one. Throws Error (kInvalidArgument).
  std::string resolve(std::string_view asked, Collective collective, std::size_t bytes, MemoryKind memory) const;

  /// The schedule of a resolved name. Throws Error (kInvalidArgument).
  const Schedule& get(const std::string& name, Collective collective, int root);

 private:
  std::string automatic(Collective collective, std::size_t bytes, MemoryKind memory) const;

  int ranks_;
  std::vector<int> hosts_;
  Selection selection_;
  std::vector<std::string> asked_;
  std::map<std::string, Schedule, std::less<>> loaded_;
  std::map<std::tuple<std::string, Collective, int>, Schedule> built_;
};

}  // namespace lockstep::detail
