#pragma once

#include "planner/one_host/sample.h"
#include "planner/selection/selection.h"

#include <vector>

namespace lockstep {

/// What was the fastest where it was measured: for the collectives and kinds of memory of which there are samples with
/// exactly so many ranks. Nothing is said of the others.
///
/// Chosen are the ranges that lose least in all; one more has to win 3 % over all its sizes, and what two samples
/// differ by counts as far as it is more than their standard error, and else a tenth: so noise makes no ranges. Where
/// all that was measured at a size was so in both states of the machine (Sample::other_state_s), what is lost is the
/// mean of what is lost in the one and in the other: whoever chooses by it may meet either. It starts where the lines
/// through the times of the two algorithms, on logarithmic axes, cross. What is `built_in` for the smallest buffers
/// counts as the range before the first.
Selection measured_selection(const std::vector<Sample>& samples, int ranks, const Selection& built_in);

}  // namespace lockstep
