#include "lab/sync_record.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace lockstep::lab {

namespace {

/// From where nothing before it was under way any more: what a prediction is of.
double milliseconds(const BucketTiming& bucket) {
  return static_cast<double>(bucket.completed_us - std::max(bucket.launched_us, bucket.begun_us)) / 1000;
}

std::vector<BucketRecord> bucket_records(const SyncReport& report) {
  std::vector<BucketRecord> records;
  for (const BucketTiming& bucket : report.buckets) {
    records.push_back({.index = bucket.index,
                       .parameters = bucket.parameters,
                       .bytes = bucket.bytes,
                       .algorithm = bucket.algorithm,
                       .milliseconds = milliseconds(bucket),
                       .hidden = bucket.hidden,
                       .operation = bucket.operation,
                       .block = bucket.block,
                       .steps = bucket.steps,
                       .wire_bytes = bucket.wire_bytes,
                       .predicted_ms = bucket.predicted_ms});
  }
  return records;
}

/// For how long some bucket was under way while gradients were still to come.
double hidden_ms(const SyncReport& report) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const BucketTiming& bucket : report.buckets) {
    spans.emplace_back(bucket.launched_us, std::min(bucket.completed_us, report.last_gradient_us));
  }
  std::sort(spans.begin(), spans.end());
  std::int64_t covered = 0, until = std::numeric_limits<std::int64_t>::min();
  for (const auto& [begin, end] : spans) {
    if (end <= std::max(begin, until)) continue;
    covered += end - std::max(begin, until);
    until = end;
  }
  return static_cast<double>(covered) / 1000;
}

}  // namespace

IterationRecord record_of(const Group& group, const SyncReport& report, double total_ms, const OutputOptions& options) {
  IterationRecord record;
  record.exposed_ms = report.exposed_ms;
  record.hidden_ms = group.size() > 1 ? hidden_ms(report) : 0;
  record.compute_ms = total_ms - report.exposed_ms;
  const bool sent = group.size() > 1 && !report.buckets.empty();
  record.bytes = sent ? report.bytes : 0;
  if (sent) record.algorithm = report.buckets.front().algorithm;
  if (options.log_sync) record.buckets = bucket_records(report);
  return record;
}

}  // namespace lockstep::lab
