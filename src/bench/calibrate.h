#pragma once

#include "planner/calibration/calibration.h"

#include <functional>
#include <string>

namespace lockstep::bench {

struct CalibrationPlan {
  int ranks = 2;                                           ///< the most to measure, at least 2
  bool fast = false;                                       ///< briefly: less exact
  std::function<void(const std::string& line)> tell = {};  ///< told what is being measured, every now and then
};

/// Over TCP no more ranks than these are measured: on one host they only share its cores.
inline constexpr int kMostRanksOverTcp = 16;

struct Calibrated {
  Calibration calibration;
  std::string no_tcp;  ///< why TCP was not measured; empty if it was
};

/// Measures what ranks of this machine cost that share memory, then those that talk over TCP, fits a model to each and
/// says how well it predicts sizes and numbers of ranks that were held back; what is kept is corrected by those too.
/// Takes minutes; nothing else should run.
Calibrated calibrate(const CalibrationPlan& plan);

}  // namespace lockstep::bench
