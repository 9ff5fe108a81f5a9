#pragma once

#include "schedule/builder.h"

#include <vector>

namespace lockstep::algorithm {

/// The largest power of two of the ranks, among which exchanges pair up; each rank beyond them stands behind one of
/// these, its neighbour in rank, and hands in and is handed everything through it (Thakur, Rabenseifner, Gropp,
/// "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1), 2005). With 6 ranks: 0 (with 1), 2
/// (with 3), 4, 5.
class CoreRanks {
 public:
  explicit CoreRanks(int ranks) {
    while (2 * size_ <= ranks) size_ *= 2;
    behind_ = ranks - size_;
  }

  int size() const { return size_; }
  int rank(int core) const { return core < behind_ ? 2 * core : core + behind_; }
  /// The core rank, and who stands behind it.
  std::vector<int> ranks_of(int core) const {
    if (core < behind_) return {rank(core), rank(core) + 1};
    return {rank(core)};
  }

  /// Calls `use(link)` with the link to a core rank from each rank that stands behind one.
  template <class Use>
  void for_each_behind(const Use& use) const {
    for (int core = 0; core < behind_; ++core) {
      use(ScheduleBuilder::Link{.from = rank(core) + 1, .to = rank(core)});
    }
  }

 private:
  int size_ = 1;
  int behind_ = 0;
};

}  // namespace lockstep::algorithm
