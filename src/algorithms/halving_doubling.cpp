#include "algorithms/core_ranks.h"
#include "algorithms/pieces.h"

#include <vector>

namespace lockstep::algorithm {

namespace {

/// Which chunks end at which core rank. An all_reduce has one for each; where blocks belong to ranks, a core rank
/// stands for those of the rank behind it too.
class Shares {
 public:
  Shares(const CoreRanks& core, bool has_blocks) : core_(core), has_blocks_(has_blocks) {}

  std::vector<int> of(int core) const { return has_blocks_ ? core_.ranks_of(core) : std::vector<int>{core}; }
  int count(int ranks) const { return has_blocks_ ? ranks : core_.size(); }

 private:
  const CoreRanks& core_;
  bool has_blocks_;
};

/// Calls `use(chunk, me, partner)` for what `me` sends in one step of the halving: the chunks of those who are alike
/// with the partner up to the bit of `distance`. In the doubling the partner sends the same back.
template <class Use>
void for_each_share(const CoreRanks& core, const Shares& shares, int distance, const Use& use) {
  for (int me = 0; me < core.size(); ++me) {
    const int partner = me ^ distance;
    for (int owner = partner % (2 * distance); owner < core.size(); owner += 2 * distance) {
      for (const int chunk : shares.of(owner)) use(chunk, core.rank(me), core.rank(partner));
    }
  }
}

}  // namespace

/// Recursive halving, then doubling (Rabenseifner's algorithm): partners at distance 1, 2, 4, ... exchange halves of
/// what is left to sum, until each has 1 / n of the buffer summed; then the distances shrink and the finished parts
/// double. 2 log2 n steps and 2 (n - 1) / n of the buffer sent, both the least possible, for powers of two; else the
/// ranks beyond hand their buffers in first and get the result last. The nearest are paired first, as in a binary tree,
/// so the sums of a power of two are canonical.
///
/// Source: Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004, LNCS 3036.
// Cost, of powers of two and of others:
//   all_reduce: 2 h alpha + 2 (q - 1) / q bytes beta + (q - 1) / q bytes gamma, h = floor(log2 n), q = 2^h;
//     unless n = q, 2 alpha + 2 bytes beta + bytes gamma more
//   reduce_scatter: h alpha + (n - 1) / n bytes (beta + gamma), h = floor(log2 n), q = 2^h;
//     unless n = q, 2 alpha + (1 + 1 / n) bytes beta + bytes gamma more, and up to q / n bytes (beta + gamma) on top of
//     that
//   all_gather: h alpha + (n - 1) / n bytes beta, h = floor(log2 n), q = 2^h;
//     unless n = q, 2 alpha + bytes beta more, and up to q / n bytes beta on top of that
Schedule halving_doubling(const ScheduleRequest& request) {
  const CoreRanks core(request.ranks);
  const bool has_blocks = blocks_of(request.collective, 2) > 1;
  const Shares shares(core, has_blocks);
  const int chunks = shares.count(request.ranks);
  ScheduleBuilder s = begin("halving_doubling", request, chunks);
  if (is_reduction(request.collective)) {
    core.for_each_behind([&](ScheduleBuilder::Link up) {
      for (int chunk = 0; chunk < chunks; ++chunk) s.reduce(chunk, up);
    });
    s.end_step();
    for (int distance = 1; distance < core.size(); distance *= 2) {
      for_each_share(core, shares, distance,
                     [&](int chunk, int me, int partner) { s.reduce(chunk, {.from = me, .to = partner}); });
      s.end_step();
    }
  }
  if (request.collective == Collective::kReduceScatter) {
    core.for_each_behind([&](ScheduleBuilder::Link up) { s.copy(up.from, {.from = up.to, .to = up.from}); });
    return s.take();
  }
  if (request.collective == Collective::kAllGather) {
    core.for_each_behind([&](ScheduleBuilder::Link up) { s.copy(up.from, up); });
    s.end_step();
  }
  for (int distance = core.size() / 2; distance >= 1; distance /= 2) {
    for_each_share(core, shares, distance,
                   [&](int chunk, int me, int partner) { s.copy(chunk, {.from = partner, .to = me}); });
    s.end_step();
  }
  core.for_each_behind([&](ScheduleBuilder::Link up) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      if (!has_blocks || chunk != up.from) s.copy(chunk, {.from = up.to, .to = up.from});
    }
  });
  return s.take();
}

}  // namespace lockstep::algorithm
