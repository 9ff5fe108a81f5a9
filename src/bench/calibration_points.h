#pragma once

#include "bench/held_back.h"
#include "bench/samples.h"
#include "planner/medium.h"

#include <vector>

namespace lockstep::bench {

/// What prices are fitted to: all_gather only copies, which tells copies from sums.
const std::vector<Collective>& fitted_collectives();

/// What `lockstep calibrate` measures.
struct CalibrationPoints {
  std::vector<Point>
      fitted;  ///< all_reduce and all_gather on registered memory: what prices are fitted to or held against
  std::vector<Point>
      others;  ///< the other collectives but the barrier; where ranks share memory all on plain memory too
};

/// Of numbers of ranks that are held back as much as of the others: no prediction is made from what they took, but
/// `auto` follows what was measured of them too.
CalibrationPoints calibration_points(Medium medium, const Numbers& numbers);

}  // namespace lockstep::bench
