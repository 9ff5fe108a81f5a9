#include "lab/training_trace.h"

#include "lab/sync_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep::lab {

void TrainingTrace::begin(std::int64_t iteration) {
  iteration_ = iteration;
  begun_us_ = now_us();
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

std::string shown_ms(double milliseconds) { return fmt::format("{:.3f} ms", milliseconds); }

double length_ms(std::int64_t begin_us, std::int64_t end_us) { return static_cast<double>(end_us - begin_us) / 1000; }

}  // namespace

void TrainingTrace::add(const SyncReport& report) {
  for (const BucketTiming& bucket : report.buckets) add_bucket(bucket);
  const std::int64_t end_us = now_us();
  const double hidden = hidden_ms(report), waited = waited_for_data();
  auto shown = arguments();
  shown["compute"] = shown_ms(length_ms(begun_us_, end_us) - report.exposed_ms - waited);
  shown["communication"] = shown_ms(report.exposed_ms + hidden);
  shown["exposed"] = shown_ms(report.exposed_ms);
  shown["hidden"] = shown_ms(hidden);
  add({"iteration", kIterationCategory, begun_us_, end_us, shown, false});
}

void TrainingTrace::add_bucket(const BucketTiming& bucket) {
  const BucketRecord record = record_of(bucket);
  auto shown = arguments();
  shown["bytes"] = std::to_string(bucket.bytes);
  shown["algorithm"] = bucket.algorithm;
  shown["parameters"] = fmt::format("{}", fmt::join(bucket.parameters, ", "));
  shown["hidden"] = bucket.hidden ? "yes" : "no";
  shown["operation"] = bucket.operation;
  shown["phase"] = bucket.phase;
  shown["steps"] = std::to_string(bucket.steps);
  shown["bytes sent"] = std::to_string(bucket.wire_bytes);
  shown["measured"] = shown_ms(record.milliseconds);  // it alone; the span begins when it was asked for
  if (record.predicted_ms) shown["predicted"] = shown_ms(*record.predicted_ms);
  if (const auto error = record.prediction_error()) shown["error"] = fmt::format("{:+.1f} %", 100 * *error);
  if (!record.block.empty()) shown["block"] = record.block;
  add({name_of(bucket), "communication", bucket.launched_us, bucket.completed_us, shown, true});
}

double TrainingTrace::waited_for_data() const {
  double waited = 0;
  for (const TraceSpan& span : iterations_.back()) {
    if (span.name == "data") waited += length_ms(span.begin_us, span.end_us);
  }
  return waited;
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
