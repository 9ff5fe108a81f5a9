#include "lab/summary.h"

#include "base/atomic_file.h"
#include "base/standard_streams.h"
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

fs::path report_path(const OutputOptions& options) { return options.folder() / "report.html"; }
fs::path trace_path(const OutputOptions& options) { return options.folder() / "trace.json"; }

/// What programs read of a run, beside its lines of JSON.
void write_summary(const OutputOptions& options, const RunRecord& run, const Ending& ending) {
  nlohmann::ordered_json memory = nlohmann::ordered_json::array();
  for (const MemoryRecord& row : ending.memory) {
    memory.push_back(
        {{"kind", row.kind}, {"predicted_bytes", row.predicted_bytes}, {"measured_bytes", row.measured_bytes}});
  }
  const nlohmann::ordered_json summary{{"title", run.title},
                                       {"ranks", run.world_size},
                                       {"parameters", run.parameters},
                                       {"seconds", ending.seconds},
                                       {"memory", memory}};
  write_file_atomically(options.folder() / "summary.json",
                        summary.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_curve(const std::vector<IterationRecord>& records) {
  constexpr int kColumns = 78, kRows = 10;
  std::vector<double> losses;
  for (const IterationRecord& record : records) losses.push_back(record.loss);
  const auto display = Console::detect(stdout);
  fmt::print(
      "\n{}",
      draw_curve(losses, std::min(kColumns, display.width), kRows,
                 {.unicode = display.unicode, .first = records.front().iteration, .last = records.back().iteration}));
}

}  // namespace

void summarize(const OutputOptions& options, const Ending& ending, Journal& journal) {
  const RunRecord& run = journal.run();
  const auto& records = journal.records();
  journal.close();
  ReportPage page{.run = run,
                  .iterations = records,
                  .sample = ending.sample,
                  .trace_path = trace_path(options).filename().string(),
                  .total_seconds = ending.seconds,
                  .memory = ending.memory};
  page.timeline = typical_iteration(options.folder(), run.world_size);  // from the parts, which merging removes
  merge_traces(options.folder(), run.world_size, trace_path(options));
  write_report(page, report_path(options));
  write_summary(options, run, ending);
  print_curve(records);
  fmt::print("\nloss {:.4f} at iteration {}, {:.4f} at iteration {}; {}\n", records.front().loss,
             records.front().iteration, records.back().loss, records.back().iteration, ending.result);
  fmt::print("{}\n", ending.verdict);
}

void print_files(const OutputOptions& options, const Ending& ending, const TrainingTrace& trace) {
  write_to_stdout(fmt::format("\ncheckpoint  {}\nreport      {}\ntrace       {} ({}; opens at ui.perfetto.dev)\n",
                              ending.kept.string(), report_path(options).string(), trace_path(options).string(),
                              trace.extent()));
}

}  // namespace lockstep::lab
