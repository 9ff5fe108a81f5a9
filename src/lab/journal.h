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
  /// A run that `goes_on` adds to the file of --jsonl; another one begins it anew.
  Journal(const OutputOptions& options, RunRecord run, bool goes_on = false);

  void add(const IterationRecord& record);
  void say(const std::string& line) { console_->say(line); }
  /// Ends the progress display. Throws Error (kIo) if the JSON lines could not all be written.
  void close();

  const RunRecord& run() const { return run_; }
  /// In order, at most kMostRecords; of a long run every second, fourth, ... beside the first, the last and those with
  /// a validation loss, and of these, too, where they alone would be too many.
  const std::vector<IterationRecord>& records() const { return records_; }

  static constexpr std::size_t kMostRecords = 4000;

 private:
  bool is_kept(const IterationRecord& record) const;
  void thin_out();

  RunRecord run_;
  std::string jsonl_path_;
  std::ofstream jsonl_;
  std::optional<TensorboardWriter> tensorboard_;
  std::unique_ptr<Console> console_;
  std::vector<IterationRecord> records_;
  std::int64_t stride_ = 1;             ///< iterations between those that stay
  std::int64_t validations_ = 0;        ///< that there were
  std::int64_t validation_stride_ = 1;  ///< of them, between those that stay
};

}  // namespace lockstep::lab
