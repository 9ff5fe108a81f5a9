#pragma once

#include "planner/calibration/calibration.h"
#include "planner/calibration/residual_curve.h"
#include "planner/medium.h"
#include "planner/one_host/host_work.h"
#include "schedule/schedule.h"

#include <functional>

namespace lockstep {

/// What a schedule takes on the machine that was calibrated, at any size: what the model of its medium predicts, times
/// what that was wrong by where the same algorithm was measured (ResidualCurve).
class CalibratedTiming {
 public:
  /// Over kTcp of ranks that its model knows. Throws Error (kInvalidArgument) for another medium than shared memory
  /// and TCP, of which nothing is calibrated.
  CalibratedTiming(const Calibration& calibration, Medium medium, Schedule schedule);

  /// What the operation takes. With bytes touched in between it is what the model alone predicts: what was measured
  /// are operations that follow each other. Over TCP the model knows of none.
  double seconds(const HostOperation& operation) const;

 private:
  std::function<double(const HostOperation&)> predicted_;
  ResidualCurve residuals_;
};

}  // namespace lockstep
