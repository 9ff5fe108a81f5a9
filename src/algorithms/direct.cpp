#include "algorithms/pieces.h"

namespace lockstep::algorithm {

namespace {

/// Everybody sends everybody what it has for it.
Schedule exchange_all(const ScheduleRequest& request) {
  const int n = request.ranks;
  ScheduleBuilder s = begin("direct", request, n * n);
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      if (from != to) s.copy(from * n + to, {.from = from, .to = to});
    }
  }
  return s.take();
}

}  // namespace

/// Direct exchange: rank r takes chunk r from everybody and sums it, then sends the result to everybody. Two steps
/// whatever the number of ranks, and each rank sends 2 (p - 1) / p of the buffer, the least possible.
/// A reduce sends the results to the root only; a broadcast scatters the root's chunks, then does the second half. An
/// all_to_all is one step.
///
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1),
/// 2005 (pairwise exchange, and the scatter and all-gather form of a long broadcast); with chunk r summed at one place
/// in order of the ranks.
// Cost:
//   all_reduce, reduce: 2 (p - 1) (alpha + n / p beta) + (p - 1) / p n gamma
//   broadcast: 2 (p - 1) (alpha + n / p beta)
//   reduce_scatter: (p - 1) (alpha + n / p (beta + gamma))
//   all_gather, all_to_all: (p - 1) (alpha + n / p beta)
Schedule direct(const ScheduleRequest& request) {
  if (request.collective == Collective::kAllToAll) return exchange_all(request);
  const int n = request.ranks;
  const bool broadcasts = request.collective == Collective::kBroadcast;
  ScheduleBuilder s = begin("direct", request, n);
  if (is_reduction(request.collective)) {
    for (int owner = 0; owner < n; ++owner) {
      for (int rank = 0; rank < n; ++rank) {
        if (rank != owner) s.reduce(owner, {.from = rank, .to = owner});
      }
    }
    s.end_step();
  }
  if (request.collective == Collective::kReduce) gather_to_root(s, n, request.root);
  if (broadcasts) scatter_from_root(s, n, request.root);
  if (distributes(request.collective)) {
    for (int owner = 0; owner < n; ++owner) {
      for (int rank = 0; rank < n; ++rank) {
        const bool has_it = rank == owner || (broadcasts && rank == request.root);
        if (!has_it) s.copy(owner, {.from = owner, .to = rank});
      }
    }
    s.end_step();
  }
  return s.take();
}

}  // namespace lockstep::algorithm
