#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace lockstep {

/// How fast iterations go by, for a progress bar. Older time counts less, so that an estimate follows a change within
/// half a minute and one slow iteration (a validation) moves it only little. Counts from the first iteration that it is
/// told of.
class Pace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `iteration` ended at `now`.
  void reached(std::int64_t iteration, Time now) {
    if (known_) {
      const double seconds = std::chrono::duration<double>(now - time_).count();
      const double keep = std::exp(-seconds / kMemorySeconds);
      seconds_ = seconds_ * keep + seconds;
      iterations_ = iterations_ * keep + static_cast<double>(iteration - iteration_);
    }
    known_ = true;
    iteration_ = iteration;
    time_ = now;
  }

  /// Iterations a second; 0 as long as fewer than two ends were seen.
  double per_second() const { return seconds_ > 0 ? iterations_ / seconds_ : 0; }

  /// Seconds until `total` is reached; negative where unknown.
  double seconds_until(std::int64_t total) const {
    return per_second() > 0 ? static_cast<double>(total - iteration_) / per_second() : -1;
  }

 private:
  static constexpr double kMemorySeconds = 15;

  bool known_ = false;
  std::int64_t iteration_ = 0;
  Time time_;
  double seconds_ = 0;     // remembered time,
  double iterations_ = 0;  // and what was done in it
};

}  // namespace lockstep
