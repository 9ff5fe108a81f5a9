#include "algorithms/pieces.h"

namespace lockstep::algorithm {

/// Direct exchange: rank r takes chunk r from everybody and sums it, then sends the result to everybody. Two steps
/// whatever the number of ranks, and each rank sends 2 (n - 1) / n of the buffer, the least possible.
/// A broadcast scatters the root's chunks, then does the second half.
///
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1),
/// 2005 (pairwise exchange, and the scatter and all-gather form of a long broadcast); with chunk r summed at one place
/// in order of the ranks.
Schedule direct(const ScheduleRequest& request) {
  const int n = request.ranks;
  const bool broadcasts = request.collective == Collective::kBroadcast;
  ScheduleBuilder s = begin("direct", request, n);
  if (reduces(request.collective)) {
    for (int owner = 0; owner < n; ++owner) {
      for (int rank = 0; rank < n; ++rank) {
        if (rank != owner) s.reduce(owner, {.from = rank, .to = owner});
      }
    }
    s.end_step();
  }
  if (broadcasts) {
    for (int owner = 0; owner < n; ++owner) {
      if (owner != request.root) s.copy(owner, {.from = request.root, .to = owner});
    }
    s.end_step();
  }
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
