#pragma once

#include "algorithms/catalog.h"
#include "group/identity.h"
#include "planner/calibration/in_force.h"
#include "schedule/schedule.h"

#include <cstdint>
#include <map>
#include <optional>
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

  /// Throws Error (kInvalidArgument) unless what a resolved name stands for does this collective, at whatever root.
  void require_support(std::string_view name, Collective collective) const;

  /// At which root a schedule stands for all others: a loaded one is for its own only, of the catalogue's any will do.
  int root_of(std::string_view name) const;

  /// The schedule of a resolved name, as it is kept to be run. Over messages these are this rank's transfers only,
  /// unless it was loaded; in shared memory a plan is made from all of them. Throws Error (kInvalidArgument).
  const Schedule& get(const std::string& name, Collective collective, int root);

  /// All ranks' transfers, for who proves or prices them: not kept, since they may be millions. Throws as get().
  Schedule whole(const std::string& name, Collective collective, int root) const;
  /// The same, but none where there are more than `most`, which need not be built to be known as far too many.
  std::optional<Schedule> whole_of_at_most(std::int64_t most, const std::string& name, Collective collective,
                                           int root) const;

 private:
  std::string automatic(Collective collective, std::size_t bytes, MemoryKind memory) const;
  /// Null if none of that name was loaded. Throws Error (kInvalidArgument) if it is for something else.
  const Schedule* find_loaded(const std::string& name, Collective collective, int root) const;
  ScheduleRequest request_for(Collective collective, int root) const;

  int ranks_;
  std::optional<int> only_rank_;  ///< whose transfers suffice to run a schedule
  std::vector<int> hosts_;
  Selection selection_;
  std::vector<std::string> asked_;
  std::size_t last_asked_ = 0;  ///< number of the text asked for last
  std::map<std::string, Schedule, std::less<>> loaded_;
  std::map<std::tuple<std::string, Collective, int>, Schedule> built_;
};

}  // namespace lockstep::detail
