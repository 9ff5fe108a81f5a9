#pragma once

#include <atomic>

namespace lockstep {

/// The process that made this. A child that it forks is another, and holds copies of what its parent shares with
/// others: it has nothing to tell them, and what they send is its parent's.
class OwnProcess {
 public:
  /// Throws Error (kTransport).
  OwnProcess();
  /// Costs a load, so that every call of a group may ask.
  bool is_this() const { return forks_ == forks_before.load(std::memory_order_relaxed); }

 private:
  static inline std::atomic<unsigned> forks_before = 0;  ///< from the first process that made one of these to this one

  unsigned forks_;
};

}  // namespace lockstep
