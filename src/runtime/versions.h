#pragma once

#include "schedule/schedule.h"

#include <cstddef>
#include <vector>

namespace lockstep {

/// The life of every chunk on every rank while a schedule runs: version 0 is what it holds at the start, and each step
/// that writes it makes the next. Who reads which version, and when, is all that a rank must know to wait for no more
/// than it has to.
class Versions {
 public:
  struct Reader {
    int rank;
    int step;
  };
  struct Version {
    int step;  ///< that made it; -1 for what was there at the start
    std::vector<Reader> readers;
  };

  explicit Versions(const Schedule& schedule);

  /// All versions of a chunk on a rank, oldest first.
  const std::vector<Version>& of(int rank, int chunk) const { return versions_[place(rank, chunk)]; }
  /// The number of the version that is there when `step` begins, and the version.
  int at(int rank, int chunk, int step) const;
  const Version& before(int rank, int chunk, int step) const {
    return of(rank, chunk)[static_cast<std::size_t>(at(rank, chunk, step))];
  }

 private:
  std::size_t place(int rank, int chunk) const {
    return static_cast<std::size_t>(rank) * chunks_ + static_cast<std::size_t>(chunk);
  }
  std::size_t chunks_;
  std::vector<std::vector<Version>> versions_;
};

}  // namespace lockstep
