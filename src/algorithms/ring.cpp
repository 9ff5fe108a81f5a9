#include "algorithms/pieces.h"

namespace lockstep::algorithm {

namespace {

/// The root's chunks follow each other down the chain root, root + 1, ...: 2 (n - 1) steps for n chunks.
void pipeline_from_root(ScheduleBuilder& s, int ranks, int root) {
  const int last_hop = ranks - 2;
  for (int step = 0; step <= ranks - 1 + last_hop; ++step) {
    for (int hop = 0; hop <= last_hop; ++hop) {
      const int chunk = step - hop;
      if (chunk < 0 || chunk >= ranks) continue;
      s.copy(chunk, {.from = wrapped(root + hop, ranks), .to = wrapped(root + hop + 1, ranks)});
    }
    s.end_step();
  }
}

}  // namespace

/// Ring: partial sums of the chunks travel around, each rank adding its own, until rank r holds the whole of chunk r;
/// then the results travel around once more. 2 (n - 1) steps; each rank speaks to its two neighbours only and sends
/// 2 (n - 1) / n of the buffer, the least possible. A broadcast is a pipeline of chunks down the open ring.
///
/// Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.
Schedule ring(const ScheduleRequest& request) {
  const int n = request.ranks;
  ScheduleBuilder s = begin("ring", request, n);
  if (request.collective == Collective::kBroadcast) {
    pipeline_from_root(s, n, request.root);
    return s.take();
  }
  if (reduces(request.collective)) {
    for (int step = 0; step < n - 1; ++step) {
      for (int rank = 0; rank < n; ++rank) {
        s.reduce(wrapped(rank - step - 1, n), {.from = rank, .to = wrapped(rank + 1, n)});
      }
      s.end_step();
    }
  }
  if (distributes(request.collective)) {
    for (int step = 0; step < n - 1; ++step) {
      for (int rank = 0; rank < n; ++rank) {
        s.copy(wrapped(rank - step, n), {.from = rank, .to = wrapped(rank + 1, n)});
      }
      s.end_step();
    }
  }
  return s.take();
}

}  // namespace lockstep::algorithm
