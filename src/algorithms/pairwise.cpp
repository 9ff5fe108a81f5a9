#include "algorithms/pieces.h"

namespace lockstep::algorithm {

/// Pairwise exchange for all_to_all: in step k every rank sends to the rank k places on and hears from the rank k
/// places back. p - 1 steps, in each of which every link carries one block each way: no rank is ever sent to by two.
///
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1),
/// 2005.
// Cost:
//   all_to_all: (p - 1) (alpha + n / p beta)
Schedule pairwise(const ScheduleRequest& request) {
  const int n = request.ranks;
  ScheduleBuilder s = begin("pairwise", request, n * n);
  for (int distance = 1; distance < n; ++distance) {
    for (int rank = 0; rank < n; ++rank) {
      const int to = wrapped(rank + distance, n);
      s.copy(rank * n + to, {.from = rank, .to = to});
    }
    s.end_step();
  }
  return s.take();
}

}  // namespace lockstep::algorithm
