#pragma once

#include "lab/output_options.h"
#include "report/console.h"
#include "report/record.h"
#include "report/tensorboard.h"

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::lab {

/// What is told of a training while it runs: lines on stdout, JSON lines in a file, event files, and the records for
/// its report. Rank 0 has one.
class Journal {
 public:
  /// Throws Error (kInvalidArgument) if the file of JSON lines cannot be made, (kIo) for event files.
  Journal(const OutputOptions& options, RunRecord run);

  void add(const IterationRecord& record);
  void say(const std::string& line) { console_->say(line); }
  /// Ends the progress display. Throws Error (kIo) if the JSON lines could not all be written.
  void close();

  const RunRecord& run() const { return run_; }
  /// In order; of a long run every second, fourth, ... beside the first, the last and those with a validation loss.
  const std::vector<IterationRecord>& records() const { return records_; }

 private:
  static constexpr std::size_t kMostRecords = 4000;
  void thin_out();

  RunRecord run_;
  std::string jsonl_path_;
  std::ofstream jsonl_;
  std::optional<TensorboardWriter> tensorboard_;
  std::unique_ptr<Console> console_;
  std::vector<IterationRecord> records_;
  std::int64_t stride_ = 1;
};

}  // namespace lockstep::lab
