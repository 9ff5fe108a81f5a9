#include "lab/training_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::lab {

void TrainingTrace::begin(std::int64_t iteration) {
  iteration_ = iteration;
  iterations_.emplace_back();
  if (iterations_.size() > 2 * kEnds) {
    iterations_.erase(iterations_.begin() + kEnds);
    cut_ = true;
  }
}

namespace {

/// What a person sees of it: gathers and reductions of a block go by its name.
std::string name_of(const BucketTiming& bucket) {
  if (bucket.block.empty()) return fmt::format("bucket {}", bucket.index);
  return fmt::format("{} {}", bucket.operation, bucket.block);
}

}  // namespace

void TrainingTrace::add(const SyncReport& report) {
  for (const BucketTiming& bucket : report.buckets) {
    auto shown = arguments();
    shown["bytes"] = std::to_string(bucket.bytes);
    shown["algorithm"] = bucket.algorithm;
    shown["parameters"] = fmt::format("{}", fmt::join(bucket.parameters, ", "));
    shown["hidden"] = bucket.hidden ? "yes" : "no";
    shown["operation"] = bucket.operation;
    shown["steps"] = std::to_string(bucket.steps);
    shown["bytes sent"] = std::to_string(bucket.wire_bytes);
    if (bucket.predicted_ms) shown["predicted"] = fmt::format("{:.3f} ms", *bucket.predicted_ms);
    add({name_of(bucket), "communication", bucket.launched_us, bucket.completed_us, shown, true});
  }
}

void TrainingTrace::write(const std::filesystem::path& folder) const {
  TraceRecorder recorder(rank_);
  for (const auto& spans : iterations_) {
    for (const TraceSpan& span : spans) recorder.add(span);
  }
  recorder.write(folder);
}

std::string TrainingTrace::extent() const {
  return cut_ ? fmt::format("the first {0} and the last {0} iterations", kEnds) : "all iterations";
}

}  // namespace lockstep::lab
