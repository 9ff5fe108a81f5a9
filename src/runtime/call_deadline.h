#pragma once

#include <algorithm>
#include <chrono>

namespace lockstep {

/// How long one call may still wait. Counted from its first wait, by looks: of the time between two of them an eighth
/// of the whole counts at most, or a second, so that a job that was suspended for hours goes on. The clock is asked
/// only when somebody has to wait.
class CallDeadline {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  void start(std::chrono::milliseconds timeout) {
    left_ = timeout;
    most_at_once_ = std::max<Clock::duration>(timeout / 8, std::chrono::seconds(1));
    started_ = false;
  }
  /// Until when to wait before the next look.
  Time next_look(Time now = Clock::now()) {
    look(now);
    return now + std::min(left_, most_at_once_);
  }
  Time next_look_or(Time earlier) { return std::min(next_look(), earlier); }
  bool has_passed(Time now = Clock::now()) {
    look(now);
    return left_ <= Clock::duration::zero();
  }
  /// Whether who waits until then only looks, and should not stay awake for a while first. Asks the clock only if it
  /// must.
  static bool is_over(Time at_most) { return at_most != Time::max() && Clock::now() >= at_most; }

 private:
  void look(Time now) {
    if (started_) left_ -= std::min(now - looked_, most_at_once_);
    started_ = true;
    looked_ = now;
  }

  Clock::duration left_{0};
  Clock::duration most_at_once_{0};
  Time looked_;
  bool started_ = false;
};

}  // namespace lockstep
