#pragma once

#include "schedule/schedule.h"

#include <cstdint>

namespace lockstep {

/// Of a pipeline that is shown, proved or run: each takes some 70 bytes meanwhile, so that it is a GiB.
inline constexpr std::int64_t kMostTransfersInSegments = std::int64_t{1} << 24;

/// The schedule as a pipeline: chunk c is cut into the slices c * segments to (c + 1) * segments - 1, which follow each
/// other through the steps: slice j does step i at step i + j. Again a schedule of the same ranks, or again one rank's
/// part of it. It moves as many bytes as before, in `segments` - 1 steps more. With long messages in k segments an
/// algorithm of s steps takes (s + k - 1) / (k s) of its time where each rank moves something in one of them only, as
/// in a chain; a ring, whose ranks are always busy, gains nothing. Throws Error (kInvalidArgument) if `segments` is
/// less than 1 or the slices are too many to be counted.
Schedule segmented(const Schedule& schedule, int segments);

}  // namespace lockstep
