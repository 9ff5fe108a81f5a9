#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

/// A rank among those that share a machine's cores.
struct RankHere {
  int rank = 0;
  int ranks = 1;
};

/// Which of so many shares of the cores a rank works on, of no fewer ranks: neighbours share. Where an algorithm's
/// neighbours exchange most, most stays within a core's own cache.
constexpr int share_of(int rank, int ranks, int shares) {
  return static_cast<int>(std::int64_t{rank} * shares / ranks);
}
/// The first of the ranks on that share.
constexpr int first_on(int share, int ranks, int shares) {
  return static_cast<int>((std::int64_t{share} * ranks + shares - 1) / shares);
}
/// Whether no other rank is dealt to its core.
constexpr bool has_core_alone(const RankHere& here, int cores) {
  const int share = share_of(here.rank, here.ranks, cores);
  return first_on(share + 1, here.ranks, cores) - first_on(share, here.ranks, cores) == 1;
}

/// The cores that the ranks of a group work on.
struct GroupCores {
  int count;
  bool shared;  ///< with ranks that are none of the group's

  GroupCores(int cores, bool with_others = false)  // NOLINT(google-explicit-constructor): most are a number
      : count(cores), shared(with_others) {}
  /// Whether so many ranks, who are the group's, cannot all run at a time.
  bool take_turns(int ranks) const { return shared || ranks > count; }
};
/// Of ranks of one machine; where all of a job's there have a core each, it is as if the others were not there.
GroupCores cores_of_group(const std::vector<RankHere>& group, int cores);

}  // namespace lockstep
