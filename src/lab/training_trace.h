#pragma once

#include "base/clock.h"
#include "report/trace.h"

#include <lockstep/data_parallel.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::lab {

/// What this rank did when, by iteration. A long run keeps its first and its last iterations, so that its trace stays
/// small enough to open.
class TrainingTrace {
 public:
  static constexpr std::size_t kEnds = 100;  ///< iterations kept of each end

  explicit TrainingTrace(int rank) : rank_(rank) {}

  /// What follows belongs to this iteration.
  void begin(std::int64_t iteration);
  /// Calls `work`, records how long it took, and returns what it returns.
  template <class Work>
  decltype(auto) measure(const char* name, Work&& work) {
    const Span span(*this, name);
    return std::forward<Work>(work)();
  }
  /// The end of an iteration, of which `report` tells the last synchronised backward: its buckets, and a span around
  /// all since begin() with its times in sum: computing, communication, of that exposed and hidden.
  void add(const SyncReport& report);

  /// Writes this rank's part of the trace into `folder`, for merge_traces. Throws Error (kIo).
  void write(const std::filesystem::path& folder) const;
  /// What a person should know about it: "the first 100 and the last 100 iterations", or "all iterations".
  std::string extent() const;

 private:
  class Span {
   public:
    Span(TrainingTrace& trace, const char* name) : trace_(trace), name_(name), begin_us_(now_us()) {}
    ~Span() { trace_.add({name_, "compute", begin_us_, now_us(), trace_.arguments(), false}); }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    TrainingTrace& trace_;
    const char* name_;
    std::int64_t begin_us_;
  };
  void add_bucket(const BucketTiming& bucket);
  /// Of the iteration under way, in ms.
  double waited_for_data() const;
  void add(TraceSpan span) { iterations_.back().push_back(std::move(span)); }
  std::map<std::string, std::string> arguments() const { return {{"iteration", std::to_string(iteration_)}}; }

  int rank_;
  std::int64_t iteration_ = 0;
  std::int64_t begun_us_ = 0;
  bool cut_ = false;
  std::deque<std::vector<TraceSpan>> iterations_;
};

}  // namespace lockstep::lab
