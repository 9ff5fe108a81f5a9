#pragma once

#include "runtime/plan.h"

#include <cstddef>

namespace lockstep {

/// What of an operation in shared memory is written past the caches, because memory is nearer or the caches are better
/// used for something else.
class PastCaches {
 public:
  /// The machine's.
  struct Caches {
    std::size_t shared_bytes = 0;  ///< of the one that all cores share; 0: not known
    /// To write where another core has read takes a core longer than to write to memory and to read from there.
    bool are_slow_to_take_back = false;
  };

  /// `bytes`: of a rank's buffer times the ranks.
  PastCaches(const Caches& caches, bool is_staged, std::size_t bytes);

  /// To how many of its first targets a move of so many bytes writes past the caches: to all if nobody reads them soon
  /// and the operation is so large that they would not stay in the shared cache; to what it stages, if that always
  /// lies in the same place (staging_rotations.h) and caches are slow to take back.
  std::size_t targets_of(const Plan::Move& move, std::size_t bytes) const;

 private:
  bool is_seldom_read(const Plan::Move& move) const;

  bool is_staged_;
  bool is_large_;
  bool stages_past_them_;
};

}  // namespace lockstep
