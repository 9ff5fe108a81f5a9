#pragma once

#include "planner/calibration/calibration.h"
#include "planner/selection/selection.h"

namespace lockstep {

/// For every collective the algorithm that is predicted to be the fastest, by size, for so many ranks of the host. An
/// algorithm must be 3 % faster to take over, so that noise makes no ranges. For more than kMostSelectedRanks, what is
/// built in. Takes a second for 16 ranks: jobs read what `lockstep calibrate` stored.
Selection predicted_selection(const Calibration& calibration, int ranks);

}  // namespace lockstep
