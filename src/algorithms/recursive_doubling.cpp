#include "algorithms/core_ranks.h"
#include "algorithms/pieces.h"

namespace lockstep::algorithm {

namespace {

/// Every rank has its own chunk, and hands on all it has: one, then two, then four.
void all_gather(ScheduleBuilder& s, int ranks) {
  const CoreRanks core(ranks);
  core.for_each_behind([&](ScheduleBuilder::Link up) { s.copy(up.from, up); });
  s.end_step();
  for (int distance = 1; distance < core.size(); distance *= 2) {
    for (int me = 0; me < core.size(); ++me) {
      const int first = me / distance * distance;  // of those whose chunks are here by now
      for (int owner = first; owner < first + distance; ++owner) {
        for (const int chunk : core.ranks_of(owner)) {
          s.copy(chunk, {.from = core.rank(me), .to = core.rank(me ^ distance)});
        }
      }
    }
    s.end_step();
  }
  core.for_each_behind([&](ScheduleBuilder::Link up) {
    for (int chunk = 0; chunk < ranks; ++chunk) {
      if (chunk != up.from) s.copy(chunk, {.from = up.to, .to = up.from});
    }
  });
}

}  // namespace

/// Recursive doubling: partners at distance 1, 2, 4, ... exchange what they have and both sum it, so that after
/// log2 p steps everybody has the sum of all: the fewest with one partner a step, each of which moves the whole buffer.
/// For other than powers of two, the ranks beyond hand their buffers in first and get the result last: two steps more.
/// In an all_gather the chunks at hand double instead.
///
/// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1),
/// 2005.
// Cost, of powers of two and of others:
//   all_reduce: H (alpha + n beta + n gamma), H = floor(log2 p);
//     unless p = 2^H, 2 alpha + 2 n beta + n gamma more
//   all_gather: H alpha + (p - 1) / p n beta, H = floor(log2 p), q = 2^H;
//     unless p = q, 2 alpha + n beta more, and up to q / p n beta on top of that
Schedule recursive_doubling(const ScheduleRequest& request) {
  const bool gathers = request.collective == Collective::kAllGather;
  ScheduleBuilder s = begin("recursive_doubling", request, gathers ? request.ranks : 1);
  if (gathers) {
    all_gather(s, request.ranks);
    return s.take();
  }
  const CoreRanks core(request.ranks);
  core.for_each_behind([&](ScheduleBuilder::Link up) { s.reduce(0, up); });
  s.end_step();
  for (int distance = 1; distance < core.size(); distance *= 2) {
    for (int me = 0; me < core.size(); ++me) {
      s.reduce(0, {.from = core.rank(me), .to = core.rank(me ^ distance)});
    }
    s.end_step();
  }
  core.for_each_behind([&](ScheduleBuilder::Link up) { s.copy(0, {.from = up.to, .to = up.from}); });
  return s.take();
}

}  // namespace lockstep::algorithm
