#pragma once

#include "schedule/schedule.h"

#include <vector>

namespace lockstep {

/// The same schedule for other ranks: what rank r did, rank order[r] does. Blocks that belong to ranks go with them, so
/// it is again a schedule for the same collective, from or to order[root]. Takes one rank's part of a schedule too,
/// which becomes another rank's. Sums may be made in another order than before. Throws Error (kInvalidArgument) if
/// `order` does not name each rank once.
Schedule relabelled(const Schedule& schedule, const std::vector<int>& order);

/// The host of each of so many ranks, neighbours in number on each, of which the last may have fewer.
std::vector<int> hosts_of_neighbours(int ranks, int ranks_a_host);

/// The ranks of each host, ascending; hosts in the order in which they first appear. `hosts` says on which host each
/// rank is, by any numbers.
std::vector<std::vector<int>> ranks_of_hosts(const std::vector<int>& hosts);

/// The same ranks in one row: an order in which those of a host are neighbours. A ring relabelled by it crosses from
/// host to host as seldom as a ring can.
std::vector<int> order_by_host(const std::vector<int>& hosts);

/// Where each rank stands in an order: the order that undoes it.
std::vector<int> inverse_of(const std::vector<int>& order);

}  // namespace lockstep
