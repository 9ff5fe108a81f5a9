#pragma once

#include "runtime/plan.h"

#include <cstddef>

namespace lockstep {

/// What an operation in shared memory does about caches where it writes: past them, because memory is nearer or they
/// are better used for something else, or asking early for what other cores hold.
class WritePolicy {
 public:
  /// The machine's.
  struct Caches {
    std::size_t shared_bytes = 0;  ///< of the one that all cores share; 0: not known
    /// To write where another core has read takes a core longer than to write to memory and to read from there.
    bool are_slow_to_take_back = false;
    /// It takes less if the core asks for what it is about to write.
    bool are_worth_asking = false;
  };
  /// How a move writes.
  struct Writes {
    std::size_t past_caches = 0;  ///< so many of its first targets
    bool asks_early = false;      ///< for all others, where there is something to sum or more than one target
  };

  /// The most that an operation moves, of a rank's buffer times the ranks, to leave its results in the caches.
  static std::size_t most_cached_bytes(const Caches& caches);

  /// `bytes`: of a rank's buffer times the ranks.
  WritePolicy(const Caches& caches, bool is_staged, std::size_t bytes);

  /// Of a move of so many bytes. Past the caches goes all of it if nobody reads it soon and the operation is so large
  /// that it would not stay in the shared cache, and what it stages, if that always lies in the same place
  /// (staging_rotations.h) and caches are slow to take back. Early it asks for what it takes back.
  Writes of(const Plan::Move& move, std::size_t bytes) const;

 private:
  bool is_seldom_read(const Plan::Move& move) const;

  bool is_staged_;
  bool is_large_;
  bool stages_past_caches_;
  bool asks_early_;
};

}  // namespace lockstep
