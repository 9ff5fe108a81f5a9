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

/// Whether an algorithm's all_reduce has each of so many ranks sum an equal part of the buffer, with which it goes on
/// between hosts.
bool leaves_equal_parts(std::string_view local, int local_ranks);

/// Of an all_reduce as hierarchical:LOCAL,GLOBAL by those of both, with `local_ranks` on each host, each of which LOCAL
/// leaves with an equal part.
LoadForm hierarchical_load_form(const LoadForm& local, const LoadForm& global, int local_ranks);

}  // namespace lockstep
