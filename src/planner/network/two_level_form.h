#pragma once

#include "planner/network/closed_form.h"

#include <lockstep/types.h>

#include <optional>
#include <string_view>

namespace lockstep {

/// Whether an algorithm's all_reduce has each of so many ranks sum an equal part of the buffer, with which it goes on
/// between hosts.
bool leaves_equal_parts(std::string_view local, int local_ranks);

/// The formula of hierarchical:LOCAL,GLOBAL with L = `local_ranks` on each host, for p a multiple of L: a port is a
/// port within a host too. Of an all_reduce, or of a barrier, which is that of nothing.
///
/// None unless GLOBAL has a formula, and LOCAL's ranks have sums of equal parts (leaves_equal_parts), or one of them
/// all of it (tree, star), or each (naive; recursive_doubling where L is a power of two).
std::optional<ClosedForm> two_level_form(std::string_view local, std::string_view global, int local_ranks,
                                         Collective collective = Collective::kAllReduce);

}  // namespace lockstep
