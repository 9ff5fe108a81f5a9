#pragma once

#include "planner/network/rank_loads.h"

#include <lockstep/types.h>

#include <functional>
#include <string_view>

namespace lockstep {

/// A formula of who does how much, for p ranks and n bytes. Like the formulas of the time (closed_form.h) it is written
/// from the text, not from the schedule: that schedules agree with it is a test of both. Which rank has which place is
/// the catalogue's choice where the text leaves it open: who exchanges with whom among a power of two is asked of
/// algorithms/halving.h, whose proof is the schedules'.
using LoadForm = std::function<Loads(int ranks, double bytes)>;

/// Empty where there is none. A barrier's is the all_reduce of nothing, of an algorithm that does one.
LoadForm find_load_form(std::string_view algorithm, Collective collective);

}  // namespace lockstep
