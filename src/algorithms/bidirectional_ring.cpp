#include "algorithms/pieces.h"

namespace lockstep::algorithm {

/// Bidirectional ring: two rings at once, one half of each chunk travels each way. As many steps as a ring and as many
/// bytes, but each link carries half of them in each direction: twice as fast where links are full duplex and a rank
/// has a link of its own to each of its two neighbours.
///
/// Source: Jain, Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects", ICS 2010 (a
/// torus of one dimension); Patarasuk, Yuan, JPDC 69(2), 2009, for each of the two rings.
// Cost on one port a rank; with one for each direction half of the alpha and beta:
//   all_reduce: 2 (p - 1) (w alpha + n / p beta) + (p - 1) / p n gamma, w = min(2, p - 1)
//   reduce_scatter: (p - 1) (w alpha + n / p (beta + gamma)), w = min(2, p - 1)
//   all_gather: (p - 1) (w alpha + n / p beta), w = min(2, p - 1)
Schedule bidirectional_ring(const ScheduleRequest& request) {
  const int n = request.ranks;
  ScheduleBuilder s = begin("bidirectional_ring", request, 2 * n);
  // Chunk 2 r goes forward to end at rank r, chunk 2 r + 1 backward.
  const auto for_each_hop = [&](const auto& pass) {
    for (int rank = 0; rank < n; ++rank) {
      for (const int direction : {1, -1}) {
        pass(rank, direction, ScheduleBuilder::Link{.from = rank, .to = wrapped(rank + direction, n)});
      }
    }
    s.end_step();
  };
  const auto chunk_of = [n](int owner, int direction) { return 2 * wrapped(owner, n) + (direction > 0 ? 0 : 1); };
  if (is_reduction(request.collective)) {
    for (int step = 0; step < n - 1; ++step) {
      for_each_hop([&](int rank, int direction, ScheduleBuilder::Link link) {
        s.reduce(chunk_of(rank - direction * (step + 1), direction), link);
      });
    }
  }
  if (distributes(request.collective)) {
    for (int step = 0; step < n - 1; ++step) {
      for_each_hop([&](int rank, int direction, ScheduleBuilder::Link link) {
        s.copy(chunk_of(rank - direction * step, direction), link);
      });
    }
  }
  return s.take();
}

}  // namespace lockstep::algorithm
