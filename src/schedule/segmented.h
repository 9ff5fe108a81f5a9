#pragma once

#include "schedule/schedule.h"

namespace lockstep {

/// The schedule as a pipeline: chunk c is cut into the slices c * segments to (c + 1) * segments - 1, which follow each
/// other through the steps: slice j does step i at step i + j. Again a schedule of the same ranks, or again one rank's
/// part of it. It moves as many bytes as before in `segments` - 1 steps more, each 1 / segments as long; so an
/// algorithm of s steps takes (s + k - 1) / k of the time of its s when messages are long. Throws Error
/// (kInvalidArgument) if `segments` is less than 1 or the slices are too many to be counted.
Schedule segmented(const Schedule& schedule, int segments);

}  // namespace lockstep
