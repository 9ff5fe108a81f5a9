#pragma once

#include "report/record.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::study {

/// What a training of `lockstep train` left in its files.
struct TrainingRun {
  std::string title;
  int ranks = 1;
  std::uint64_t parameters = 0;
  std::vector<IterationRecord> iterations;  ///< those that count, after the warm-up
  std::map<std::string, double> phase_ms;   ///< rank 0's "forward", "backward", "optimizer", ...: medians
  std::vector<MemoryRecord> memory;         ///< where it tells it

  /// Medians over the iterations, in ms.
  double iteration_ms() const;
  double exposed_ms() const;
  double least_exposed_ms() const;  ///< of all: where this rank came last, and waited for nobody
  double phase(const std::string& name) const;
};

/// The milliseconds of an iteration.
inline double total_ms(const IterationRecord& record) {
  return record.compute_ms + record.exposed_ms + record.data_wait_ms;
}

// Each throws Error (kIo) with `source` and what is wrong for a text that no run wrote.

/// Lines of --jsonl, from iteration `first` on.
std::vector<IterationRecord> parse_iterations(std::string_view lines, std::int64_t first, const std::string& source);
/// Medians of rank 0's spans by name, in ms, from iteration `first` on; of a trace.json.
std::map<std::string, double> parse_phases(std::string_view trace, std::int64_t first, const std::string& source);
/// Title, ranks, parameters and memory, of a summary.json.
TrainingRun parse_summary(std::string_view summary, const std::string& source);

/// A line of `lockstep bench`.
struct CollectiveTime {
  std::string algorithm;
  double bytes = 0;
  double seconds = 0;  ///< median
};
/// Its JSON. Throws Error (kIo) for another text, and where a result was wrong.
std::vector<CollectiveTime> parse_bench(std::string_view json, const std::string& source);

}  // namespace lockstep::study
