#pragma once

#include "report/record.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

/// Everything that the report page shows.
struct ReportPage {
  RunRecord run;
  std::vector<IterationRecord> iterations;
  std::string sample;                       ///< generated text; empty for none
  std::string trace_path;                   ///< shown beside the time curve; empty for none
  double total_seconds = 0;                 ///< of the training
  std::vector<MemoryRecord> memory = {};    ///< of a rank, by kind; empty where it was not counted
  std::vector<TimelineSpan> timeline = {};  ///< one iteration of all ranks; empty for none
};

/// One self-contained HTML file (no network): curves of training and validation loss, gradient norm, learning rate,
/// throughput and time split into compute and exposed communication, the buckets where recorded, the settings and the
/// sample. Written atomically. Throws Error (kIo).
void write_report(const ReportPage& page, const std::filesystem::path& path);

}  // namespace lockstep
