#pragma once

#include "algorithms/catalog.h"
#include "schedule/builder.h"
#include "schedule/promise.h"

#include <cstdint>
#include <string_view>
#include <vector>

/// What the algorithms share: which parts a collective has, and arithmetic of ranks. An all_reduce is a reduction that
/// leaves each result somewhere, then a distribution of it; reduce_scatter is the first part, all_gather the second.
namespace lockstep::algorithm {

/// Whether everybody is given everything in the end.
inline bool distributes(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kAllGather ||
         collective == Collective::kBroadcast || collective == Collective::kBarrier;
}

/// `value` modulo `ranks`, never negative.
inline int wrapped(int value, int ranks) { return ((value % ranks) + ranks) % ranks; }

/// A builder for `request`; a root that the collective does not have is not looked at.
inline ScheduleBuilder begin(std::string_view name, const ScheduleRequest& request, int chunks) {
  return ScheduleBuilder({.name = std::string(name),
                          .collective = request.collective,
                          .ranks = request.ranks,
                          .chunks = chunks,
                          .root = has_root(request.collective) ? request.root : 0,
                          .only_rank = request.only_rank});
}

/// One step: the root sends every rank its own chunk, of as many as there are ranks.
inline void scatter_from_root(ScheduleBuilder& s, int ranks, int root) {
  for (int owner = 0; owner < ranks; ++owner) {
    if (owner != root) s.copy(owner, {.from = root, .to = owner});
  }
  s.end_step();
}

/// One step: every rank sends its own chunk to the root.
inline void gather_to_root(ScheduleBuilder& s, int ranks, int root) {
  for (int owner = 0; owner < ranks; ++owner) {
    if (owner != root) s.copy(owner, {.from = owner, .to = root});
  }
  s.end_step();
}

Schedule bidirectional_ring(const ScheduleRequest& request);
Schedule circulant(const ScheduleRequest& request);
Schedule direct(const ScheduleRequest& request);
Schedule dissemination(const ScheduleRequest& request);
Schedule double_tree(const ScheduleRequest& request);
Schedule halving_doubling(const ScheduleRequest& request);
/// Within hosts by `local`, between hosts by `global`; both do the collective, of a barrier an all_reduce.
Schedule hierarchical(const ScheduleRequest& request, const Algorithm& local, const Algorithm& global);
/// The same of a reduce_scatter, all_gather, broadcast or reduce among these hosts' ranks.
Schedule hierarchical_in_stages(std::string_view name, const ScheduleRequest& request, const Algorithm& local,
                                const Algorithm& global, const std::vector<std::vector<int>>& hosts);
/// Of each chunk the ranks that sum it to the end, ascending (finishing_steps in schedule/view.h); 0 where nobody does,
/// being alone.
std::vector<std::vector<int>> finishers_of(const Schedule& schedule);
/// Throws Error (kInvalidArgument) if a composition has more chunks than may be.
void require_few_chunks(std::int64_t chunks, const ScheduleRequest& request);
Schedule naive(const ScheduleRequest& request);
Schedule pairwise(const ScheduleRequest& request);
/// `inner`'s schedule with each chunk in so many segments. Throws as Algorithm::build(), and Error (kInvalidArgument)
/// if they are too many for it.
Schedule pipeline(const ScheduleRequest& request, const Algorithm& inner, int segments);
Schedule recursive_doubling(const ScheduleRequest& request);
Schedule ring(const ScheduleRequest& request);
Schedule star(const ScheduleRequest& request);
Schedule swing(const ScheduleRequest& request);
Schedule tree(const ScheduleRequest& request);

}  // namespace lockstep::algorithm
