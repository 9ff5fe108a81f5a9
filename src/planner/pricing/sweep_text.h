#pragma once

#include "planner/pricing/sweep.h"

#include <string>
#include <vector>

namespace lockstep {

/// A number of bytes or ranks. A crossing between two numbers of ranks is first true of the larger one.
std::string point_text(Sweep::Axis axis, double point);

/// "64 B-64 KiB tree, 64 KiB- ring": who is the fastest where; with "; at 1000: circulant" for a last number of ranks
/// that is no power of two.
std::string fastest_text(const Sweep& sweep);

/// "closed form", or "simulated and closed form" of a curve of which both tell a part; empty where it has no point.
std::string sources_text(const Sweep::Curve& curve);

/// What is to be said with a sweep: what its curves are, and who is not compared, and where.
std::vector<std::string> notes_on(const Sweep& sweep);

}  // namespace lockstep
