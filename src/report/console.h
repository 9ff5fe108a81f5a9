#pragma once

#include "report/pace.h"
#include "report/record.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Prints a training as it goes. On a terminal: lines every so often above a progress bar with an ETA, redrawn in
/// place. In a pipe: plain lines, no escape codes. The terminal is left clean when this object goes. For one thread.
class Console {
 public:
  struct Options {
    std::FILE* stream = stdout;
    bool terminal = false;  ///< draw the bar, use colour, keep lines within `width`
    int width = 80;         ///< columns, for a terminal that does not say itself
    std::int64_t every =
        1;  ///< print each n-th iteration's line (the first, the last and those with a validation loss always)
    bool buckets = false;  ///< --log-sync: a line on communication and one for each bucket too
    bool colour = true;    ///< on a terminal
    bool unicode = true;   ///< else ASCII only
  };
  /// What the stream and the environment (TERM, NO_COLOR, the locale) ask for.
  static Options detect(std::FILE* stream);

  Console(RunRecord run, Options options);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void iteration(const IterationRecord& record);
  /// A line of its own, above the bar.
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;

  RunRecord run_;
  Options options_;
  Pace pace_;
  std::int64_t first_ = 0;  // the first iteration seen; not 1 after a resume
  std::int64_t last_ = 0;
  bool bar_shown_ = false;
  Clock::time_point drawn_;

  bool deserves_line(const IterationRecord& record) const;
  std::string lines_of(const IterationRecord& record) const;
  std::string bar() const;
  std::size_t columns() const;
  void write(const std::string& lines, bool with_bar);
};

/// "iteration 20  loss 2.3456  accuracy 84.2 %  norm 0.98  lr 3.0e-04  12,345 tokens/s  compute 10.1 ms  exposed 0.8 ms
/// data 2.0 ms  1.5 MiB direct", with accuracy and the wait for data where there are any; where a terminal is too
/// narrow for that, "... 12.3k tok/s 10.1+0.8+2.0 ms 1.5 MiB": compute + exposed + data. `item` as RunRecord has it.
std::string format_iteration(const IterationRecord& record, const std::string& item = "tokens");
/// One line of --log-sync: "bucket 2  all_gather of blocks.3 in forward  1 MiB  ring, 6 steps, 1.50 MiB sent  0.42 ms
/// hidden, predicted 0.40 ms (-4.1 %)  head.weight"; what is not known is left out, as is the phase of what is always
/// in backward. Where `columns` cannot hold that, it is two lines, broken before the time. The parameters that do not
/// fit are counted instead of named.
std::string format_bucket(const BucketRecord& record, std::size_t columns = std::string::npos);
/// One line of --jsonl: an object with the fields of IterationRecord and its BucketRecords by their names, but
/// `items_per_second` by its item, as `tokens_per_second` or `images_per_second`. What is optional or not known (0, "")
/// stands there only where there is any, hidden_ms among them; null for a number that is not finite. Beside them
/// communication_ms, hidden and exposed together.
std::string to_json(const IterationRecord& record, const std::string& item = "tokens");

/// How draw_curve draws.
struct CurveStyle {
  bool unicode = true;     ///< braille dots, eight to a character; else ASCII
  std::int64_t first = 1;  ///< the iteration of the first value, for the axis
  std::int64_t last = 0;   ///< and of the last one; 0: there is a value for each
};
/// A loss curve in text, `rows` high and at most `columns` wide, with the ends of both axes labelled; each line ends
/// with \n. Values that are not finite are left out; with none left, an empty string.
std::string draw_curve(const std::vector<double>& values, int columns, int rows, CurveStyle style = {});

}  // namespace lockstep
