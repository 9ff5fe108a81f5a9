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

}  // namespace

/// Binary (binomial) tree: sums go up to a root, pairs of ranks first, then pairs of pairs; the result comes down the
/// same way. 2 ceil(log2 n) steps, for any n, of the whole buffer at once: the fewest rounds for small messages. A
/// broadcast comes down from its root. In reduce_scatter and all_gather each chunk has a tree of its own, rooted at its
/// owner: ceil(log2 n) steps, in which each rank sends each of the other ranks' chunks once.
///
/// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036 (binary tree); for
/// trees rotated over the ranks: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient Algorithms for All-to-All
/// Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997.
Schedule tree(const ScheduleRequest& request) {
  const int n = request.ranks;
  const bool one_root = reduces_for_all(request.collective) || request.collective == Collective::kBroadcast;
  const int chunks = one_root ? 1 : n;
  ScheduleBuilder s = begin("tree", request, chunks);
  const auto root_of = [&](int chunk) { return one_root ? request.root : chunk; };
  int top = 1;
  while (2 * top < n) top *= 2;
  if (reduces(request.collective)) {
    for (int span = 1; span <= top; span *= 2) {
      for (int chunk = 0; chunk < chunks; ++chunk) {
        for_each_edge(n, root_of(chunk), span,
                      [&](int child, int parent) { s.reduce(chunk, {.from = child, .to = parent}); });
      }
      s.end_step();
    }
  }
  if (distributes(request.collective)) {
    for (int span = top; span >= 1; span /= 2) {
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
