#pragma once

#include "planner/calibration/calibration.h"
#include "planner/medium.h"

#include <vector>

namespace lockstep::bench {

/// What was measured and held back, and what is predicted of it.
struct Prediction {
  Sample measured;
  double seconds = 0;

  /// By how much of what was measured it is more, or less.
  double error() const { return seconds / measured.seconds - 1; }
};

/// How well this build predicts what a stored calibration measured, over shared memory or TCP: its prices are fitted
/// anew to what `lockstep calibrate` fits them to, and held against what it holds back.
struct Refit {
  HeldBack held_back;
  std::vector<Prediction> sizes;
  std::vector<Prediction> ranks;
};

/// Throws Error (kInvalidArgument) where nothing was measured over that medium.
Refit refit(const Calibration& calibration, Medium medium);

}  // namespace lockstep::bench
