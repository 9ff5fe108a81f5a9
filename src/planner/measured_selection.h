#pragma once

#include "planner/calibration.h"
#include "planner/selection.h"

namespace lockstep {

/// What was the fastest where it was measured: for the collectives of which the calibration has measurements with
/// exactly so many ranks. Nothing is said of the others.
///
/// Chosen are the ranges that lose least in all; one more has to win 3 % over all its sizes, so that noise makes none.
/// It starts where the lines through the times of the two algorithms, on logarithmic axes, cross.
Selection measured_selection(const Calibration& calibration, int ranks);

}  // namespace lockstep
