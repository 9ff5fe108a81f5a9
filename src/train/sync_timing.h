#pragma once

#include <lockstep/data_parallel.h>

#include <cstdint>

#include "base/clock.h"

namespace lockstep {

/// Adds the time it lives to `total_ms`.
class Timed {
 public:
  explicit Timed(double& total_ms) : total_ms_(total_ms) {}
  ~Timed() { total_ms_ += milliseconds_since(start_); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double& total_ms_;
  Clock::time_point start_ = Clock::now();
};

/// The report of a backward that is over: with what follows from its times.
inline SyncReport finished(SyncReport report, std::int64_t first_gradient_us) {
  report.backward_ms = static_cast<double>(report.last_gradient_us - first_gradient_us) / 1000;
  for (BucketTiming& bucket : report.buckets) bucket.hidden = bucket.completed_us <= report.last_gradient_us;
  return report;
}

}  // namespace lockstep
