#include "algorithms/pieces.h"

namespace lockstep::algorithm {

/// Dissemination barrier: in step k every rank tells the rank 2^k places on whom it has heard from, and so has heard
/// from the 2^(k+1) ranks up to itself. Of a number of ranks that is no power of two it hears from some twice, which a
/// barrier, unlike a sum, may: so any number takes ceil(log2 p) steps, the least possible.
///
/// Source: Hensgen, Finkel, Manber, "Two Algorithms for Barrier Synchronization", International Journal of Parallel
/// Programming 17(1), 1988.
// Cost:
//   barrier: ceil(log2 p) alpha
Schedule dissemination(const ScheduleRequest& request) {
  const int n = request.ranks;
  ScheduleBuilder s = begin("dissemination", request, 1);
  for (int distance = 1; distance < n; distance *= 2) {
    for (int rank = 0; rank < n; ++rank) s.reduce(0, {.from = rank, .to = wrapped(rank + distance, n)});
    s.end_step();
  }
  return s.take();
}

}  // namespace lockstep::algorithm
