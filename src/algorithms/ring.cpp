#include "algorithms/pieces.h"

namespace lockstep::algorithm {

namespace {

/// p chunks follow each other along a chain of p ranks: 2 (p - 1) steps. `pass(chunk, hop)` is one hop of one of them.
template <class Pass>
void pipeline(ScheduleBuilder& s, int ranks, const Pass& pass) {
  const int hops = ranks - 1;
  for (int step = 0; step < ranks - 1 + hops; ++step) {
    for (int hop = 0; hop < hops; ++hop) {
      const int chunk = step - hop;
      if (chunk >= 0 && chunk < ranks) pass(chunk, hop);
    }
    s.end_step();
  }
}

}  // namespace

/// Ring: partial sums of the chunks travel around, each rank adding its own, until rank r holds the whole of chunk r;
/// then the results travel around once more. 2 (p - 1) steps; each rank speaks to its two neighbours only and sends
/// 2 (p - 1) / p of the buffer, the least possible. A broadcast is a pipeline of chunks down the open ring, which is
/// cut before the root; a reduce is one that ends there.
///
/// Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009;
/// for the pipelines: Patarasuk, Faraj, Yuan, "Techniques for pipelined broadcast on Ethernet switched clusters", JPDC
/// 68(6), 2008.
// Cost:
//   all_reduce: 2 (p - 1) (alpha + n / p beta) + (p - 1) / p n gamma
//   reduce_scatter: (p - 1) (alpha + n / p (beta + gamma))
//   all_gather: (p - 1) (alpha + n / p beta)
//   broadcast: 2 (p - 1) (alpha + n / p beta)
//   reduce: 2 (p - 1) (alpha + n / p (beta + gamma))
Schedule ring(const ScheduleRequest& request) {
  const int n = request.ranks;
  const auto next = [n](int rank, int places) { return wrapped(rank + places, n); };
  ScheduleBuilder s = begin("ring", request, n);
  if (request.collective == Collective::kBroadcast) {
    pipeline(s, n, [&](int chunk, int hop) {
      s.copy(chunk, {.from = next(request.root, hop), .to = next(request.root, hop + 1)});
    });
    return s.take();
  }
  if (request.collective == Collective::kReduce) {
    pipeline(s, n, [&](int chunk, int hop) {
      s.reduce(chunk, {.from = next(request.root, hop + 1), .to = next(request.root, hop + 2)});
    });
    return s.take();
  }
  if (is_reduction(request.collective)) {
    for (int step = 0; step < n - 1; ++step) {
      for (int rank = 0; rank < n; ++rank) {
        s.reduce(wrapped(rank - step - 1, n), {.from = rank, .to = next(rank, 1)});
      }
      s.end_step();
    }
  }
  if (distributes(request.collective)) {
    for (int step = 0; step < n - 1; ++step) {
      for (int rank = 0; rank < n; ++rank) {
        s.copy(wrapped(rank - step, n), {.from = rank, .to = next(rank, 1)});
      }
      s.end_step();
    }
  }
  return s.take();
}

}  // namespace lockstep::algorithm
