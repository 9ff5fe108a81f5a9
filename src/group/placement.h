#pragma once

#include "group/engine.h"
#include "topology/dealing.h"

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lockstep::detail {

/// On which host each rank of a group is, as the catalogue takes it (ScheduleRequest::hosts): numbers from 0 in the
/// order in which the hosts first appear; empty where all share one.
using Placement = std::vector<int>;

/// How many cores each rank of a group may use, as it says; empty where all say the same, or it is a group of one.
using Cores = std::vector<int>;

/// What a rank says of itself.
struct Whereabouts {
  std::string_view host;          ///< topology/host_id.h
  std::uint64_t calibration = 0;  ///< the digest of the one that it follows (planner/calibration/in_force.h)
  int cores = 1;                  ///< topology/cpu_quota.h, which containers of one host answer differently
};
/// What all of them said.
struct Surroundings {
  Placement placement;
  Cores cores;
  bool same_calibration = true;  ///< where ranks follow different ones, "auto" can follow none
};

/// Every rank of the engine's tells the others, and hears them. Each calls it once, before it sends any message.
/// Blocking. Throws Error as a receive does: kTimeout, kPeerDied, kPeerLeft.
Surroundings tell_whereabouts(Engine& engine, const Whereabouts& own, std::chrono::milliseconds timeout);

/// That of some of the ranks, in their order.
Placement placement_of(const Placement& whole, const std::vector<int>& members);
Cores cores_of(const Cores& whole, const std::vector<int>& members);
/// Which of its host's ranks each of so many is, of a world with that placement.
std::vector<RankHere> ranks_here(const Placement& whole, int ranks);

}  // namespace lockstep::detail
