#pragma once

#include "planner/calibration/calibration.h"
#include "study/records.h"
#include "topology/network.h"

#include <lockstep/types.h>

#include <functional>
#include <map>
#include <string>

namespace lockstep::study {

/// One collective that is to be priced.
struct Asked {
  std::string algorithm;
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  double bytes = 0;
  double touched_between = 0;  ///< as in HostOperation
};

/// The seconds that it is predicted to take. Throws Error (kInvalidArgument) for an algorithm that there is not, or
/// that does not do the collective. Keeps the schedules that it has priced; not for two threads at a time.
using CostModel = std::function<double(const Asked& asked)>;

/// Ranks that share this host's memory, by what `lockstep calibrate` measured.
CostModel model_of(const Calibration& calibration);
/// Ranks with a card each, by the link's alpha and beta for each number of ranks: each message of the schedule takes
/// alpha + bytes * beta of its sender's card and of its receiver's; what has come of a message is handed on while the
/// rest arrives, as the runtime does over byte streams. A number of ranks that is not there is
/// Error (kInvalidArgument).
CostModel model_of(const std::map<int, FlatCost>& links);

/// alpha and beta by which a ring's all-reduce, T = 2(p-1) alpha + 2(p-1)/p n beta, takes these two times.
FlatCost fit_ring(int ranks, const CollectiveTime& small, const CollectiveTime& large);

}  // namespace lockstep::study
