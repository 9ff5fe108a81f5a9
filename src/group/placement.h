#pragma once

#include "group/engine.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::detail {

/// On which host each rank of a group is, as the catalogue takes it (ScheduleRequest::hosts): numbers from 0 in the
/// order in which the hosts first appear; empty where all share one.
using Placement = std::vector<int>;

/// Every rank of the engine's says which host it is on (topology/host_id.h) and hears the others'. Each calls it once,
/// before it sends any message. Blocking. Throws Error as a receive does: kTimeout, kPeerDied, kPeerLeft.
Placement tell_hosts(Engine& engine, std::string_view host, std::chrono::milliseconds timeout);

/// That of some of the ranks, in their order.
Placement placement_of(const Placement& whole, const std::vector<int>& members);

}  // namespace lockstep::detail
