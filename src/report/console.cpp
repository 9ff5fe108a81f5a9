#include "report/console.h"

#include "base/environment.h"
#include "base/standard_streams.h"
#include "base/units.h"
#include "report/line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep {

namespace {

constexpr std::string_view kEraseLine = "\r\x1b[2K";
constexpr auto kRedraw = std::chrono::milliseconds(80);
constexpr std::size_t kLongestBar = 40;

// A locale that names no other character set is taken to mean UTF-8: containers have none at all, and terminals have
// it.
bool unicode_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const auto value = environment(name)) {
      return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos;
    }
  }
  return true;
}

std::string repeat(std::string_view piece, std::size_t times) {
  std::string text;
  while (times-- > 0) text += piece;
  return text;
}

std::string format_pace(double per_second) {
  if (per_second <= 0) return "-- it/s";
  return per_second >= 1 ? fmt::format("{:.1f} it/s", per_second) : fmt::format("{:.1f} s/it", 1 / per_second);
}

std::string format_eta(double seconds) {
  constexpr double kTooLong = 1e9;
  if (seconds < 0 || seconds > kTooLong) return "ETA --";
  return "ETA " + format_wait(std::chrono::seconds(std::llround(seconds)));
}

}  // namespace

Console::Options Console::detect(std::FILE* stream) {
  Options options;
  options.stream = stream;
  options.terminal = ::isatty(::fileno(stream)) == 1 && environment("TERM").value_or("dumb") != "dumb";
  if (const int width = terminal_width(stream); width > 0) options.width = width;
  options.colour = !environment("NO_COLOR");
  options.unicode = unicode_locale();
  return options;
}

Console::Console(RunRecord run, Options options) : run_(std::move(run)), options_(options) {}

Console::~Console() { write("", false); }

void Console::iteration(const IterationRecord& record) {
  pace_.reached(record.iteration, Clock::now());
  if (last_ == 0) first_ = record.iteration;
  last_ = record.iteration;
  const bool line = deserves_line(record);
  if (line) {
    write(lines_of(record), true);
  } else if (options_.terminal && Clock::now() - drawn_ >= kRedraw) {
    write("", true);
  }
}

void Console::say(const std::string& line) { write(line + "\n", last_ > 0); }

bool Console::deserves_line(const IterationRecord& record) const {
  return record.iteration == first_ || record.iteration == run_.iterations || record.validation_loss ||
         options_.every <= 1 || record.iteration % options_.every == 0;
}

std::string Console::lines_of(const IterationRecord& record) const {
  std::string lines;
  if (options_.terminal) {
    std::vector<Field> fields = iteration_fields(record, run_.item);
    // The number is padded behind, so that the columns stand below each other.
    const std::size_t longest = std::string_view("iteration ").size() + std::to_string(run_.iterations).size();
    fields.front().text.resize(std::max(fields.front().text.size(), longest), ' ');
    fields.front().brief = fields.front().text;
    lines = fit(std::move(fields), columns(), options_.colour) + "\n";
  } else {
    lines = format_iteration(record, run_.item) + "\n";
  }
  if (options_.buckets) {
    const std::vector<Field> fields = sync_fields(record);
    lines += (options_.terminal ? fit(fields, columns()) : join(fields)) + "\n";
    for (const BucketRecord& bucket : record.buckets) {
      lines += format_bucket(bucket, options_.terminal ? columns() : std::string::npos) + "\n";
    }
  }
  return lines;
}

std::string Console::bar() const {
  if (run_.iterations <= 0) return {};
  const double share = std::clamp(static_cast<double>(last_) / static_cast<double>(run_.iterations), 0.0, 1.0);
  // The last percent is only said when all is done.
  const std::string percent = fmt::format("{:3.0f}%", std::floor(share * 100));
  const std::string count = fmt::format("{}/{}", last_, run_.iterations);
  const std::string pace = format_pace(pace_.per_second());
  const std::string eta = format_eta(pace_.seconds_until(run_.iterations));
  // One column stays free: a terminal that has its last one filled may wrap.
  const std::size_t columns = this->columns() - 1;
  const std::string text = fit({{count, count, 2}, {pace, pace, 1}, {eta, eta, 3}}, columns - percent.size() - 2);
  const std::size_t taken = percent.size() + text.size() + 3;
  const std::size_t length = std::min(columns > taken ? columns - taken : 0, kLongestBar);
  if (length < 5) return percent + "  " + text;
  const auto full = static_cast<std::size_t>(share * static_cast<double>(length));
  const std::string done = repeat(options_.unicode ? "━" : "#", full);
  const std::string open = repeat(options_.unicode ? "─" : ".", length - full);
  if (!options_.colour) return fmt::format("{} {}{}  {}", percent, done, open, text);
  return fmt::format("{} {}{}  {}", percent, colour(done, "36"), colour(open, "2"), text);
}

std::size_t Console::columns() const {
  constexpr int kNarrowest = 20;
  const int width = terminal_width(options_.stream);
  return static_cast<std::size_t>(std::max(width > 0 ? width : options_.width, kNarrowest));
}

void Console::write(const std::string& lines, bool with_bar) {
  std::string text;
  if (bar_shown_) text += kEraseLine;
  text += lines;
  bar_shown_ = false;
  if (with_bar && options_.terminal) {
    const std::string drawn = bar();
    bar_shown_ = !drawn.empty();
    text += drawn;
    drawn_ = Clock::now();
  }
  if (text.empty()) return;
  // In one piece, so that nothing flickers.
  std::fwrite(text.data(), 1, text.size(), options_.stream);
  std::fflush(options_.stream);
}

}  // namespace lockstep
