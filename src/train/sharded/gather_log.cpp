#include "train/sharded/gather_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep {

double& GatherLog::exposed_ms() {
  if (phase_.empty()) return of_none_ms_;
  if (phase_ == kStepPhase) return step_ms_;
  return gradients_ && phase_ == kBackwardPhase ? among_gradients_ms_ : before_gradients_ms_;
}

void GatherLog::add(BucketTiming timing) {
  if (timings_.size() == kMost) timings_.pop_front();
  timings_.push_back(std::move(timing));
}

void GatherLog::take_into(SyncReport& report) {
  report.exposed_ms += before_gradients_ms_ + among_gradients_ms_ + step_ms_;
  report.exposed_in_forward_ms += before_gradients_ms_;
  report.exposed_in_backward_ms += among_gradients_ms_;
  before_gradients_ms_ = among_gradients_ms_ = step_ms_ = 0;
  gradients_ = false;
  std::move(timings_.begin(), timings_.end(), std::back_inserter(report.buckets));
  timings_.clear();
  std::stable_sort(report.buckets.begin(), report.buckets.end(),
                   [](const BucketTiming& a, const BucketTiming& b) { return a.launched_us < b.launched_us; });
}

}  // namespace lockstep
