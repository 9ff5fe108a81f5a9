#pragma once

#include <sched.h>

#include <chrono>

namespace lockstep {

/// How long a rank that waits for a stream stays awake and lets others run. Most answers come within microseconds, and
/// a core on which nothing runs falls asleep: in a virtual machine it takes tens of microseconds to wake it. Where
/// others take longer than that, they compute; who sleeps then runs as soon as he is woken, who yields only when they
/// have had their share.
class Vigil {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kLongest{250};

  /// Something came: the next wait is a new one.
  void begin_anew() { tries_ = 0; }

  /// Lets others run once; false, and does nothing, where that was in vain so many times or for too long.
  bool stay_awake(int most_tries) {
    if (tries_ >= most_tries) return false;
    if (tries_ % kTriesBetweenLooks == 0 && has_taken_long()) return false;
    ++tries_;
    ::sched_yield();
    return true;
  }

 private:
  static constexpr int kTriesBetweenLooks = 4;  ///< at the clock

  bool has_taken_long() {
    const Clock::time_point now = Clock::now();
    if (tries_ == 0) since_ = now;
    return now >= since_ + kLongest;
  }

  int tries_ = 0;
  Clock::time_point since_;
};

}  // namespace lockstep
