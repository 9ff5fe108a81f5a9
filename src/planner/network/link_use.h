#pragma once

#include "planner/network/rank_loads.h"
#include "planner/network/simulate.h"
#include "topology/wiring.h"

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

/// Links of larger networks are not listed one by one.
inline constexpr std::size_t kMostNamedLinks = 4096;

/// How much of the time, 0 to 1, the links of one kind are in use.
struct LinkUse {
  Wiring::Kind kind;
  double mean = 0;
  double most = 0;
  std::string busiest;  ///< the link that is used the most; the first of several
};

/// How much of the time one link is in use.
struct NamedUse {
  std::string link;
  double use;
};

/// How much of the time links are in use, those that are at all.
struct LinkUses {
  std::vector<LinkUse> by_kind;
  std::vector<NamedUse> each;  ///< none where there are more than kMostNamedLinks
};

LinkUses link_uses(const Simulation& simulation, const Wiring& wiring);

/// The same without a simulation: on the flat network, where it all takes `seconds`.
LinkUses link_uses(const Loads& loads, int ranks, const FlatCost& cost, double seconds);

}  // namespace lockstep
