#include "algorithms/pieces.h"

#include <vector>

namespace lockstep::algorithm {

namespace {

/// One round: rank r has to do with the rank `skip` places on, about the blocks that are `skip` to `end` - 1 places on.
struct Round {
  int skip;
  int end;
};

/// Halving, rounded up: of 7 ranks (4, 7), (2, 4), (1, 2).
std::vector<Round> rounds_of(int ranks) {
  std::vector<Round> rounds;
  for (int end = ranks; end > 1; end = (end + 1) / 2) rounds.push_back({(end + 1) / 2, end});
  return rounds;
}

}  // namespace

/// Circulant graph: in each round every rank sends the partial sums of the blocks that belong to the farther half of
/// the ranks before it, skip places on, all at once, where they are added to those of the nearer half; the halves are
/// rounded up, so that any number of ranks takes ceil(log2 p) rounds, in which each rank sends p - 1 blocks: the least
/// possible of both. The all_gather is the same backwards. A broadcast scatters the root's chunks first.
///
/// Source: Traeff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234, 2024; for the
/// all_gather: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997.
// Cost; a broadcast scatters first, in p - 1 messages of the root:
//   all_reduce: 2 h alpha + 2 (p - 1) / p n beta + (p - 1) / p n gamma, h = ceil(log2 p)
//   reduce_scatter: h alpha + (p - 1) / p n (beta + gamma), h = ceil(log2 p)
//   all_gather: h alpha + (p - 1) / p n beta, h = ceil(log2 p)
//   broadcast: (p - 1 + h) alpha + 2 (p - 1) / p n beta, h = ceil(log2 p)
Schedule circulant(const ScheduleRequest& request) {
  const int n = request.ranks;
  const bool broadcasts = request.collective == Collective::kBroadcast;
  const std::vector<Round> rounds = rounds_of(n);
  ScheduleBuilder s = begin("circulant", request, n);
  if (is_reduction(request.collective)) {
    for (const auto& [skip, end] : rounds) {
      for (int rank = 0; rank < n; ++rank) {
        for (int block = skip; block < end; ++block) {
          s.reduce(wrapped(rank + block, n), {.from = rank, .to = wrapped(rank + skip, n)});
        }
      }
      s.end_step();
    }
  }
  if (broadcasts) scatter_from_root(s, n, request.root);
  if (distributes(request.collective)) {
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
      for (int rank = 0; rank < n; ++rank) {
        if (broadcasts && rank == request.root) continue;  // it has everything
        for (int block = round->skip; block < round->end; ++block) {
          s.copy(wrapped(rank + block, n), {.from = wrapped(rank + round->skip, n), .to = rank});
        }
      }
      s.end_step();
    }
  }
  return s.take();
}

}  // namespace lockstep::algorithm
