#pragma once

#include "runtime/plan.h"
#include "runtime/versions.h"

#include <map>
#include <vector>

namespace lockstep {

/// Where values lie in the staging areas from one use to the next: each goes to where a value lay that its writer, and
/// nobody else, has read. So a rank writes into lines that its core has already, and a line crosses between two cores
/// once for each value. Where each value kept its place it would cross twice, once to be read and once to be taken
/// back, which takes a processor far longer than to read (cores that share a cache: 28 us for 256 KiB, not 6; AMD EPYC,
/// family 25, model 17).
///
/// What two ranks stage for each other trades places; what each rank hands on to the next one, all around, goes around
/// the areas. A value that no other makes room for stays where it is: what goes one way only would make the first
/// writer wait for the last reader.
///
/// The same on all ranks: it is derived from the whole schedule.
class StagingRotations {
 public:
  StagingRotations(const Schedule& schedule, const Versions& versions);

  const std::vector<Plan::Rotation>& all() const { return rotations_; }
  /// The value's seat; without rotation if it stays where it is.
  Plan::Seat of(const Plan::Stage& value) const;
  /// Whose place the value takes in the next use; its own if it stays.
  Plan::Stage next(const Plan::Stage& value) const;

 private:
  /// `value` goes where `other` was.
  using Successors = std::map<Plan::Stage, Plan::Stage>;
  void add_cycles(const Successors& successors);

  std::vector<Plan::Rotation> rotations_;
  std::map<Plan::Stage, Plan::Seat> seats_;
};

}  // namespace lockstep
