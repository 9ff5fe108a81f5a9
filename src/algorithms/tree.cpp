#include "algorithms/pieces.h"

namespace lockstep::algorithm {

namespace {

/// One level of the binomial tree over all ranks that is rooted at `root`: the links from the ranks whose distance from
/// the root has `span` as its lowest bit, to their parents.
template <class Use>
void for_each_edge(int ranks, int root, int span, const Use& use) {
  for (int distance = span; distance < ranks; distance += 2 * span) {
    const int child = wrapped(root + distance, ranks);
    const int parent = wrapped(root + distance - span, ranks);
    use(child, parent);
  }
}

/// The distance between the two ranks of the tree's highest links.
int top_span(int ranks) {
  int span = 1;
  while (2 * span < ranks) span *= 2;
  return span;
}

/// Blocks go up to the root, or come down from it, those of a child's whole subtree together.
Schedule tree_of_blocks(const ScheduleRequest& request) {
  const int n = request.ranks;
  const bool gathers = request.collective == Collective::kGather;
  ScheduleBuilder s = begin("tree", request, n);
  const auto level = [&](int span) {
    for_each_edge(n, request.root, span, [&](int child, int parent) {
      const int distance = wrapped(child - request.root, n);
      for (int below = distance; below < distance + span && below < n; ++below) {
        const int from = gathers ? child : parent;
        s.copy(wrapped(request.root + below, n), {.from = from, .to = gathers ? parent : child});
      }
    });
    s.end_step();
  };
  if (gathers) {
    for (int span = 1; span <= top_span(n); span *= 2) level(span);
  } else {
    for (int span = top_span(n); span >= 1; span /= 2) level(span);
  }
  return s.take();
}

}  // namespace

/// Binary (binomial) tree: sums go up to a root, pairs of ranks first, then pairs of pairs; the result comes down the
/// same way. 2 ceil(log2 p) steps, for any p, of the whole buffer at once: the fewest rounds for small messages. A
/// broadcast comes down from its root, a reduce goes up to it; so do scatter and gather, with the blocks of all ranks
/// below. In reduce_scatter and all_gather each chunk has a tree of its own, rooted at its owner: ceil(log2 p) steps,
/// in which each rank sends each of the other ranks' chunks once.
///
/// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036 (binary tree); for
/// trees rotated over the ranks: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All
/// Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997; for scatter and gather: Chan, Heimlich,
/// Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience", CCPE 19(13), 2007.
// Cost:
//   all_reduce: 2 h (alpha + n beta) + h n gamma, h = ceil(log2 p)
//   broadcast: h (alpha + n beta), h = ceil(log2 p)
//   reduce: h (alpha + n beta + n gamma), h = ceil(log2 p)
//   reduce_scatter: h alpha + (p - 1) / p n (beta + gamma), h = ceil(log2 p)
//   all_gather, gather, scatter: h alpha + (p - 1) / p n beta, h = ceil(log2 p)
Schedule tree(const ScheduleRequest& request) {
  if (request.collective == Collective::kGather || request.collective == Collective::kScatter) {
    return tree_of_blocks(request);
  }
  const int n = request.ranks;
  const bool one_root = !has_blocks(request.collective);
  const int chunks = one_root ? 1 : n;
  ScheduleBuilder s = begin("tree", request, chunks);
  const int root = has_root(request.collective) ? request.root : 0;
  const auto root_of = [&](int chunk) { return one_root ? root : chunk; };
  if (is_reduction(request.collective)) {
    for (int span = 1; span <= top_span(n); span *= 2) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        for_each_edge(n, root_of(chunk), span,
                      [&](int child, int parent) { s.reduce(chunk, {.from = child, .to = parent}); });
      }
      s.end_step();
    }
  }
  if (distributes(request.collective)) {
    for (int span = top_span(n); span >= 1; span /= 2) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        for_each_edge(n, root_of(chunk), span,
                      [&](int child, int parent) { s.copy(chunk, {.from = parent, .to = child}); });
      }
      s.end_step();
    }
  }
  return s.take();
}

}  // namespace lockstep::algorithm
