#include "algorithms/pieces.h"

namespace lockstep::algorithm {

/// Naive: every rank sends its whole buffer to every other, and each sums for itself. One step, the least there is, and
/// p - 1 buffers sent by each rank, the most: for a few bytes on a few ranks.
///
/// Source: no paper claims it; the "one-shot" all-reduce of DeepSpeed and vLLM in shared memory.
// Cost:
//   all_reduce: (p - 1) (alpha + n beta + n gamma)
Schedule naive(const ScheduleRequest& request) {
  ScheduleBuilder s = begin("naive", request, 1);
  for (int from = 0; from < request.ranks; ++from) {
    for (int to = 0; to < request.ranks; ++to) {
      if (from != to) s.reduce(0, {.from = from, .to = to});
    }
  }
  return s.take();
}

}  // namespace lockstep::algorithm
