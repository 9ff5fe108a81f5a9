#include "lab/sync_record.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace lockstep::lab {

namespace {

/// From where nothing before it was under way any more: what a prediction is of.
std::int64_t alone_from_us(const BucketTiming& bucket) { return std::max(bucket.launched_us, bucket.begun_us); }

/// For how long some operation was under way; those that overlap, as a hook's may, count once.
double under_way_ms(const SyncReport& report) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (const BucketTiming& bucket : report.buckets) spans.emplace_back(alone_from_us(bucket), bucket.completed_us);
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

BucketRecord record_of(const BucketTiming& bucket) {
  return {.index = bucket.index,
          .parameters = bucket.parameters,
          .bytes = bucket.bytes,
          .algorithm = bucket.algorithm,
          .milliseconds = static_cast<double>(bucket.completed_us - alone_from_us(bucket)) / 1000,
          .hidden = bucket.hidden,
          .operation = bucket.operation,
          .block = bucket.block,
          .phase = bucket.phase,
          .steps = bucket.steps,
          .wire_bytes = bucket.wire_bytes,
          .predicted_ms = bucket.predicted_ms};
}

double hidden_ms(const SyncReport& report) { return std::max(0.0, under_way_ms(report) - report.exposed_ms); }

IterationRecord record_of(const Group& group, const SyncReport& report, double total_ms, const OutputOptions& options) {
  IterationRecord record;
  record.exposed_ms = report.exposed_ms;
  record.hidden_ms = group.size() > 1 ? hidden_ms(report) : 0;
  record.compute_ms = total_ms - report.exposed_ms;
  const bool sent = group.size() > 1 && !report.buckets.empty();
  record.bytes = sent ? report.bytes : 0;
  if (sent) record.algorithm = report.buckets.front().algorithm;
  if (options.log_sync) {
    for (const BucketTiming& bucket : report.buckets) record.buckets.push_back(record_of(bucket));
  }
  return record;
}

}  // namespace lockstep::lab
