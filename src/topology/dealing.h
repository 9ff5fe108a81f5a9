#pragma once

namespace lockstep {

/// A rank among those that share a machine's cores.
struct RankHere {
  int rank = 0;
  int ranks = 1;
};

/// Which of so many shares of the cores a rank works on, of no fewer ranks: neighbours share. Where an algorithm's
/// neighbours exchange most, most stays within a core's own cache.
constexpr int share_of(int rank, int ranks, int shares) { return rank * shares / ranks; }
/// The first of the ranks on that share.
constexpr int first_on(int share, int ranks, int shares) { return (share * ranks + shares - 1) / shares; }
/// Whether no other rank is dealt to its core.
constexpr bool has_core_alone(const RankHere& here, int cores) {
  const int share = share_of(here.rank, here.ranks, cores);
  return first_on(share + 1, here.ranks, cores) - first_on(share, here.ranks, cores) == 1;
}

}  // namespace lockstep
