#pragma once

#include "bench/options.h"

#include <lockstep/group.h>

#include <vector>

namespace lockstep::bench {

/// The group of each of so many ranks, numbered from 0, as the options want them. Throws Error (kInvalidArgument)
/// unless they make groups of as many ranks each.
std::vector<int> groups_of(const Options& options, int ranks);

/// Throws Error (kInvalidArgument) where the groups of ranks that are on these hosts differ in who shares one, which
/// would run other algorithms.
void require_alike(const Options& options, const std::vector<int>& hosts);

/// This rank's own of the groups, or all, where it is one. Every rank calls it. Throws as these two and
/// Group::split.
Group part_of(const Group& all, const Options& options);

}  // namespace lockstep::bench
