#include "bench/comparison/report.h"

#include "base/atomic_file.h"
#include "base/units.h"
#include "bench/comparison/bars.h"
#include "bench/comparison/machine.h"
#include "bench/comparison/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace lockstep::compare {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBegin = "<!-- what follows is written by bench/compare -->\n";
constexpr std::string_view kEnd = "<!-- what bench/compare writes ends here -->\n";

std::string title_of(const SectionResult& result) {
  if (result.cold) return fmt::format("Shared memory, {} ranks, cold buffers", result.ranks);
  if (result.shaped) return fmt::format("TCP through 1 Gbit/s, {} ranks", result.ranks);
  return fmt::format("{}, {} ranks", result.tcp ? "TCP over loopback" : "Shared memory", result.ranks);
}

std::vector<std::string> subjects_of(const SectionResult& result) {
  std::vector<std::string> subjects;
  for (const Cell& cell : result.cells) {
    if (cell.subject == kLimitSubject) continue;
    if (std::find(subjects.begin(), subjects.end(), cell.subject) == subjects.end()) subjects.push_back(cell.subject);
  }
  return subjects;
}

std::string microseconds(double value) {
  return value >= 100 ? format_count(static_cast<std::uint64_t>(value + 0.5)) : fmt::format("{:.3g}", value);
}

/// "3.1", with the bar behind it where it is not met.
std::string times_cell(const SectionResult& result, const Bar& pair, std::size_t bytes) {
  const auto times = times_as_fast(result, pair, bytes);
  if (!times) return "";
  std::string text = fmt::format("{:.3g}", *times);
  for (const Bar& bar : bars_of(result)) {
    const bool meant =
        bar.ours == pair.ours && bar.peer == pair.peer && bytes >= bar.from_bytes && bytes <= bar.to_bytes;
    if (meant && *times < bar.times) text += fmt::format(" (bar {:g})", bar.times);
  }
  return text;
}

std::string table_of(const SectionResult& result) {
  const std::vector<std::string> subjects = subjects_of(result);
  const std::vector<Bar> pairs = pairs_of(result);
  std::string text = "| size |";
  std::string rule = "\n| ---: |";
  const auto out = std::back_inserter(text);
  const auto column = [&](const std::string& heading) {
    text += " " + heading + " |";
    rule += " ---: |";
  };
  for (const std::string& subject : subjects) column(subject + ", us");
  for (const Bar& pair : pairs) column(fmt::format("{} / {}", pair.peer, pair.ours));
  const bool limited = limit_bar(result) > 0;
  if (limited) column("the limit, us");
  if (limited) column(subjects.front() + " / limit");
  text += rule + "\n";
  for (const std::size_t bytes : sizes_of(result)) {
    fmt::format_to(out, "| {} |", format_bytes(bytes));
    for (const std::string& subject : subjects) {
      const Cell* cell = result.find(subject, bytes);
      fmt::format_to(out, " {} |", cell == nullptr ? "no answer" : microseconds(cell->median_us));
    }
    for (const Bar& pair : pairs) fmt::format_to(out, " {} |", times_cell(result, pair, bytes));
    if (limited) {
      const Cell* ours = result.find(subjects.front(), bytes);
      const double limit = limit_us(result, bytes);
      fmt::format_to(out, " {} | {:.2f} |", microseconds(limit), ours == nullptr ? 0 : ours->median_us / limit);
    }
    text += "\n";
  }
  return text;
}

std::string section_text(const SectionResult& result, const fs::path& page) {
  std::string text = fmt::format("\n### {}\n\n", title_of(result));
  if (!result.code.empty()) text += fmt::format("Measured with {}.\n\n", result.code);
  if (result.limit_gb_per_s > 0 && !result.tcp && !result.cold) {
    text +=
        fmt::format("Copies on all ranks moved {:.0f} GB/s of memory traffic in this run.\n\n", result.limit_gb_per_s);
  }
  text += table_of(result);
  for (const std::string& silent : result.silent) text += fmt::format("\n{}.\n", silent);
  if (sizes_of(result).size() >= 2) {
    const std::string picture = fmt::format("{}-{}.svg", page.stem().string(), result.section);
    write_file_atomically(page.parent_path() / picture, plot(result, title_of(result)));
    text += fmt::format("\n![{}: microseconds by size]({})\n", title_of(result), picture);
  }
  return text;
}

std::string generated(const std::vector<SectionResult>& results, const fs::path& page) {
  std::string text(kBegin);
  text += "\n" + describe_machine() + "\n\n## What falls short\n\n";
  const std::vector<std::string> sentences = shortfalls(results);
  if (sentences.empty()) text += "Nothing: every bar below is met.\n";
  for (const std::string& sentence : sentences) text += "- " + sentence + "\n";
  text += "\n## Numbers\n";
  for (const SectionResult& result : results) text += section_text(result, page);
  return text + "\n" + std::string(kEnd);
}

}  // namespace

void write_report(const std::vector<SectionResult>& results, const fs::path& page) {
  const std::string fresh = generated(results, page);
  std::string text = fs::exists(page) ? read_file(page) : "# Performance\n\n";
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos) {
    text += fresh;
  } else {
    text.replace(begin, end + kEnd.size() - begin, fresh);
  }
  write_file_atomically(page, text);
}

}  // namespace lockstep::compare
