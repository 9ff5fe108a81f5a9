#pragma once

#include "planner/sweep.h"

#include <string>

namespace lockstep {

/// A picture (SVG) of a sweep: time against bytes or ranks, both axes logarithmic, a line an algorithm. Lines differ by
/// dashes and marks, and have their names at their ends, so that the picture is legible in black and white. Those of a
/// sweep with nothing to draw say so.
std::string price_plot(const Sweep& sweep, const std::string& title);

}  // namespace lockstep
