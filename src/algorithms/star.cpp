#include "algorithms/pieces.h"

namespace lockstep::algorithm {

/// Star, the parameter server: everybody sends to one rank, which sums and sends the result back to everybody. Two
/// steps, and 2 (p - 1) buffers through the links of that one rank. Reduce and gather are its first half, broadcast and
/// scatter its second; where the collective names no root, rank 0 is the centre.
///
/// Source: Li et al., "Scaling Distributed Machine Learning with the Parameter Server", OSDI 2014; in MPI's libraries
/// the "linear" form of each collective.
// Cost, all of it at the centre:
//   all_reduce: 2 (p - 1) (alpha + n beta) + (p - 1) n gamma
//   broadcast: (p - 1) (alpha + n beta)
//   reduce: (p - 1) (alpha + n beta + n gamma)
//   gather, scatter: (p - 1) (alpha + n / p beta)
Schedule star(const ScheduleRequest& request) {
  const Collective collective = request.collective;
  const int centre = has_root(collective) ? request.root : 0;
  ScheduleBuilder s = begin("star", request, has_blocks(collective) ? request.ranks : 1);
  if (collective == Collective::kGather) gather_to_root(s, request.ranks, centre);
  if (collective == Collective::kScatter) scatter_from_root(s, request.ranks, centre);
  if (is_reduction(collective)) {
    for (int rank = 0; rank < request.ranks; ++rank) {
      if (rank != centre) s.reduce(0, {.from = rank, .to = centre});
    }
    s.end_step();
  }
  if (distributes(collective)) {
    for (int rank = 0; rank < request.ranks; ++rank) {
      if (rank != centre) s.copy(0, {.from = centre, .to = rank});
    }
  }
  return s.take();
}

}  // namespace lockstep::algorithm
