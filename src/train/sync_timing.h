#pragma once

#include <lockstep/data_parallel.h>

#include <cstdint>
#include <utility>

#include "base/clock.h"

namespace lockstep {

/// As BucketTiming::phase says it.
inline constexpr const char* kForwardPhase = "forward";
inline constexpr const char* kBackwardPhase = "backward";
inline constexpr const char* kStepPhase = "step";

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

/// What a group said of an operation that is complete.
inline void take_over(BucketTiming& timing, OperationRecord& record) {
  timing.algorithm = std::move(record.algorithm);
  timing.steps = record.steps;
  timing.wire_bytes = record.wire_bytes;
  timing.begun_us = record.begun_us;
  timing.completed_us = record.completed_us;
}

/// The report of a backward that is over: with what follows from its times.
inline SyncReport finished(SyncReport report, std::int64_t first_gradient_us) {
  report.backward_ms = static_cast<double>(report.last_gradient_us - first_gradient_us) / 1000;
  for (BucketTiming& bucket : report.buckets) bucket.hidden = bucket.completed_us <= report.last_gradient_us;
  return report;
}

}  // namespace lockstep
