#pragma once

#include "runtime/plan.h"
#include "runtime/versions.h"

#include <map>
#include <optional>

namespace lockstep {

/// Which values trade places in the staging areas. What a rank stages for one other alone, and what that one stages for
/// it, are twins: in every second use of the area each lies where the other lay. So a rank writes where it has just
/// read, into lines that its core has already, and a line crosses between two cores once for each value. Where each
/// rank kept its place it would cross twice, once to be read and once to be taken back.
///
/// The same on all ranks: it is derived from the whole schedule.
class StagingTwins {
 public:
  StagingTwins(const Schedule& schedule, const Versions& versions);

  /// Where the value lies in turned uses; none if it stays where it is.
  std::optional<Plan::Stage> of(const Plan::Stage& value) const;

 private:
  std::map<Plan::Stage, Plan::Stage> twins_;
};

}  // namespace lockstep
