#pragma once

#include "planner/pricing/sweep.h"

#include <string>

namespace lockstep {

/// A picture (SVG) of a sweep: time against bytes or ranks, a line an algorithm, and a circle where two
/// of them cross (base/line_chart.h). That of a sweep with nothing to draw says so.
std::string price_plot(const Sweep& sweep, const std::string& title);

}  // namespace lockstep
