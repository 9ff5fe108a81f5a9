#pragma once

#include "planner/network/closed_form.h"

#include <lockstep/types.h>

#include <optional>
#include <string_view>

namespace lockstep {

/// Whether an algorithm's all_reduce has each of so many ranks sum an equal part of the buffer, with which it goes on
/// between hosts; and so its reduce_scatter, if it does one, as its all_gather begins with equal parts.
bool leaves_equal_parts(std::string_view local, int local_ranks);

/// The formula of hierarchical:LOCAL,GLOBAL with L = `local_ranks` on each host, for p a multiple of L: a port is a
/// port within a host too. Of an all_reduce; of a barrier, which is that of nothing; and of what is done in stages: of
/// blocks, and from or to the first rank of a host.
///
/// None unless GLOBAL has a formula, and LOCAL's ranks have sums of equal parts (leaves_equal_parts), or, of an
/// all_reduce, one of them all of it (tree, star), or each (naive; recursive_doubling where L is a power of two). For a
/// broadcast or a reduce any LOCAL with a formula will do, but `direct` for a reduce.
std::optional<ClosedForm> two_level_form(std::string_view local, std::string_view global, int local_ranks,
                                         Collective collective = Collective::kAllReduce);

}  // namespace lockstep
