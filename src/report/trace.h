#pragma once

#include "report/record.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// Of a span that encloses those of an iteration.
inline constexpr const char* kIterationCategory = "iteration";

/// A span of time on one rank. Times are microseconds of the monotonic clock, which the ranks of a host share.
struct TraceSpan {
  std::string name;      ///< "forward", "backward", "bucket 0"
  std::string category;  ///< "compute", "communication"; kIterationCategory
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
  std::map<std::string, std::string> arguments;  ///< shown when the span is selected
  bool overlaps = false;  ///< may overlap this rank's other spans (a bucket in flight): shown as an async event
};

/// Collects this rank's spans and writes them to a file of its own; `merge_traces` makes one Chrome/Perfetto file of
/// all.
class TraceRecorder {
 public:
  explicit TraceRecorder(int rank) : rank_(rank) {}
  void add(TraceSpan span) { spans_.push_back(std::move(span)); }
  const std::vector<TraceSpan>& spans() const { return spans_; }
  /// Writes `<folder>/trace.rank<r>.json`. Throws Error (kIo).
  void write(const std::filesystem::path& folder) const;

 private:
  int rank_;
  std::vector<TraceSpan> spans_;
};

/// The spans of one iteration of all ranks, from the parts in `folder` (so before merge_traces, which removes them): of
/// those that every rank recorded the one that took the median time. A span's iteration is its argument "iteration".
/// Without the span that encloses the others; empty where there is no iteration. Throws Error (kIo) as merge_traces
/// does.
std::vector<TimelineSpan> typical_iteration(const std::filesystem::path& folder, int world_size);

/// Merges the parts of ranks 0..world_size-1 in `folder` into `output`, one row a rank, times from the earliest span,
/// and removes the parts. Throws Error (kIo) naming a part that is missing or not readable.
void merge_traces(const std::filesystem::path& folder, int world_size, const std::filesystem::path& output);

}  // namespace lockstep
