#pragma once

#include "planner/network/count.h"
#include "topology/network.h"

#include <functional>

namespace lockstep {

/// Messages one way.
struct Traffic {
  double messages = 0;
  double bytes = 0;

  /// For which they use a port of the flat network.
  double seconds(const FlatCost& cost) const { return messages * cost.alpha_s + bytes * cost.beta_s; }
};
inline Traffic of_messages(double count, double bytes_each) { return {count, count * bytes_each}; }

/// What one rank does in all of a collective.
struct RankLoad {
  Traffic sent;
  Traffic received;
  double reduced_bytes = 0;
};
RankLoad operator+(const RankLoad& a, const RankLoad& b);
inline RankLoad both_ways(const Traffic& traffic) { return {.sent = traffic, .received = traffic}; }
inline RankLoad reversed(const RankLoad& load) { return {.sent = load.received, .received = load.sent}; }
/// The same where all that arrives is reduced.
inline RankLoad reducing(const RankLoad& load) { return {load.sent, load.received, load.received.bytes}; }

/// Who does how much, told without a schedule. Ranks are counted from the root, where there is one.
struct Loads {
  std::function<RankLoad(int rank)> of_rank;
  Busiest::Link busiest_link;  ///< the lowest of several
};
/// Nothing of one rank alone.
Loads loads_of(int ranks, const Busiest::Link& busiest_link, std::function<RankLoad(int rank)> of_rank);

/// The same with every rank moved `root` places on. Of several busiest links it may be another than the lowest.
Loads rooted_at(int root, int ranks, const Loads& loads);

Busiest busiest_of(const Loads& loads, int ranks);

}  // namespace lockstep
