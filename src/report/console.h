#pragma once

#include "report/record.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace lockstep {

/// Prints a training as it goes. On a terminal: lines every so often above a progress bar with an ETA, redrawn in place. In a
/// pipe: plain lines, no escape codes. The terminal is left clean when this object goes.
class Console {
 public:
  struct Options {
    std::FILE* stream = stdout;
    bool terminal = false;     ///< draw the bar, use colour
    int width = 80;            ///< columns of the terminal
    std::int64_t every = 1;    ///< print each n-th iteration's line (the first, the last and those with a validation loss always)
    bool buckets = false;      ///< --log-sync: a line for each bucket too
  };
  Console(RunRecord run, Options options);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void iteration(const IterationRecord& record);
  /// A line of its own, above the bar.
  void say(const std::string& line);

 private:
  RunRecord run_;
  Options options_;
  std::chrono::steady_clock::time_point start_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  void draw_bar();
  void erase_bar();
};

/// "iteration 20  loss 2.3456  norm 0.98  lr 3.0e-04  12,345 tokens/s  compute 10.1 ms  exposed 0.8 ms  1.5 MiB direct"
std::string format_iteration(const IterationRecord& record);
/// One line of --log-sync.
std::string format_bucket(const BucketRecord& record);
/// One line of --jsonl: an object with the fields of IterationRecord by their names.
std::string to_json(const IterationRecord& record);
/// A loss curve in text, `rows` high, for the end of a run in a terminal or a log.
std::string draw_curve(const std::vector<double>& values, int columns, int rows);

}  // namespace lockstep
