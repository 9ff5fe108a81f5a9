#pragma once

#include "algorithms/catalog.h"
#include "schedule/builder.h"

#include <string_view>

/// What the algorithms share: which parts a collective has, and arithmetic of ranks. An all_reduce is a reduction that
/// leaves each result somewhere, then a distribution of it; reduce_scatter is the first part, all_gather the second.
namespace lockstep::algorithm {

inline bool reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kBarrier ||
         collective == Collective::kReduceScatter;
}
inline bool distributes(Collective collective) { return collective != Collective::kReduceScatter; }
/// Whether every rank ends with a reduction.
inline bool reduces_for_all(Collective collective) { return reduces(collective) && distributes(collective); }

/// `value` modulo `ranks`, never negative.
inline int wrapped(int value, int ranks) { return ((value % ranks) + ranks) % ranks; }

/// A builder for `request`, in which only broadcast has a root.
inline ScheduleBuilder begin(std::string_view name, const ScheduleRequest& request, int chunks) {
  return ScheduleBuilder({.name = std::string(name),
                          .collective = request.collective,
                          .ranks = request.ranks,
                          .chunks = chunks,
                          .root = request.collective == Collective::kBroadcast ? request.root : 0,
                          .only_rank = request.only_rank});
}

Schedule direct(const ScheduleRequest& request);
Schedule ring(const ScheduleRequest& request);
Schedule tree(const ScheduleRequest& request);

}  // namespace lockstep::algorithm
