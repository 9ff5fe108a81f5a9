#include "launch/failure.h"

#include "base/units.h"
#include "launch/signals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace lockstep {

namespace {

/// What the C++ library puts before the text of an exception that nobody caught.
constexpr std::string_view kWhat = "what():";

std::string seconds(std::chrono::duration<double> duration) {
  if (duration.count() < 10) return fmt::format("{:.1f} s", duration.count());
  return format_wait(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

/// "exited with code 3", "was ended by SIGSEGV (Segmentation fault)"
std::string how_it_ended(const RankOutcome& rank) {
  if (rank.signal == 0) return fmt::format("exited with code {}", rank.code);
  return fmt::format("was ended by {}{}", describe_signal(rank.signal), rank.dumped_core ? ", and left a core" : "");
}

/// What people find behind such an end most often; empty where it could be anything.
std::string hint(const RankOutcome& rank) {
  switch (rank.signal) {
    case 0: break;
    case SIGKILL:
      return "Not killed by lockstep: most likely the machine ran out of memory (see `dmesg | grep -i oom`).";
    case SIGBUS: return "Most often shared memory or a disk that is full (see `df -h /dev/shm`).";
    case SIGILL: return "Most often a program built for another CPU than this one.";
    case SIGXCPU: return "It used up its CPU time (see `ulimit -t`).";
    case SIGXFSZ: return "It wrote a file larger than allowed (see `ulimit -f`).";
    default: break;
  }
  if (rank.signal == 0 && rank.code == 127) return "A shell says so of a command that it does not find.";
  if (rank.signal == 0 && rank.code == 126) return "A shell says so of a file that it may not execute.";
  return "";
}

std::string_view without_indent(std::string_view line) {
  return line.substr(std::min(line.size(), line.find_first_not_of(" \t\r")));
}

/// Of lines that say something the last one; of those of an uncaught exception the one that says what it was, which a
/// stack or the rest of its text follows. Empty without any.
std::string last_word(const std::vector<std::string>& lines) {
  std::string_view word;
  for (const std::string& line : lines) {
    const std::string_view text = without_indent(line);
    if (says_something(line) && !word.starts_with(kWhat)) word = text;
    if (text.starts_with(kWhat)) word = text;
  }
  return std::string(word);
}

/// Without blank lines, and without the frames of a stack where there is anything else.
std::vector<std::string> telling(std::vector<std::string> lines) {
  std::erase_if(lines, [](const std::string& line) { return without_indent(line).empty(); });
  if (std::any_of(lines.begin(), lines.end(), says_something)) {
    std::erase_if(lines, [](const std::string& line) { return !says_something(line); });
  }
  return lines;
}

std::string what_became_of(const RankOutcome& rank, const RankOutcome& first, const FailureContext& context) {
  if (rank.stop == RankOutcome::Stop::kKilled) {
    return fmt::format("did not end within {} of SIGTERM: killed", seconds(context.grace));
  }
  if (rank.stop == RankOutcome::Stop::kAsked) return "stopped by lockstep";
  if (!rank.failed()) return "had finished";
  const std::chrono::duration<double> later = rank.ended - first.ended;
  std::string text = fmt::format("{}, {:.2f} s {}", how_it_ended(rank), std::abs(later.count()),
                                 later.count() < 0 ? "before that was seen" : "later");
  if (const std::string word = last_word(rank.last_lines); !word.empty()) text += ": " + word;
  return text;
}

/// "rank 3", "ranks 0, 2-7"
std::string names_of(const std::vector<int>& ranks) {
  std::vector<std::string> ranges;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1) ++end;
    ranges.push_back(begin == end ? std::to_string(ranks[begin]) : fmt::format("{}-{}", ranks[begin], ranks[end]));
    begin = end + 1;
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranges, ", "));
}

/// Those with the same fate in one line, so that a job of a thousand ranks still fits on the screen.
std::vector<std::string> describe_others(const JobOutcome& job, int first, const FailureContext& context) {
  constexpr std::size_t kMostLines = 12;
  std::vector<std::string> fates;
  std::map<std::string, std::vector<int>> ranks_of;
  for (int rank = 0; rank < std::ssize(job.ranks); ++rank) {
    if (rank == first) continue;
    const std::string fate =
        what_became_of(job.ranks[static_cast<std::size_t>(rank)], job.ranks[static_cast<std::size_t>(first)], context);
    if (ranks_of[fate].empty()) fates.push_back(fate);
    ranks_of[fate].push_back(rank);
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < fates.size() && i < kMostLines; ++i) {
    lines.push_back(fmt::format("{} {}", names_of(ranks_of[fates[i]]), fates[i]));
  }
  if (fates.size() > kMostLines) lines.push_back(fmt::format("and {} more", fates.size() - kMostLines));
  return lines;
}

/// A quote within is one of its own, behind a backslash between two texts in quotes.
std::string in_quotes(const std::string& argument) {
  std::string text = "'";
  for (const char one : argument) text += one == '\'' ? std::string("'\\''") : std::string(1, one);
  return text + "'";
}

/// As one would type it again, cut where it is very long.
std::string quoted(const std::vector<std::string>& command) {
  constexpr std::size_t kLongest = 300;
  std::string text;
  for (const std::string& argument : command) {
    const bool plain = !argument.empty() && argument.find_first_of(" \t\n'\"\\$`&|;<>()*?[]{}#!~") == std::string::npos;
    text += fmt::format("{}{}", text.empty() ? "" : " ", plain ? argument : in_quotes(argument));
  }
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + " ...";
}

/// A name in the margin, and lines beside it.
std::string row(const char* name, const std::vector<std::string>& lines, bool colour) {
  std::string text;
  for (const std::string& line : lines) {
    const bool begins = &line == &lines.front();
    // What a rank printed may set a colour and not end it.
    text += fmt::format("  {}{:<11}{}{}{}\n", colour && begins ? "\x1b[1m" : "", begins ? name : "",
                        colour && begins ? "\x1b[0m" : "", line, colour ? "\x1b[0m" : "");
  }
  return text;
}

}  // namespace

bool says_something(std::string_view line) {
  const std::string_view text = without_indent(line);
  return !text.empty() && !text.starts_with("frame #");
}

std::string describe_failure(const JobOutcome& job, const FailureContext& context) {
  const auto first = first_failure(job);
  if (!first) return "";
  const bool colour = context.colour;
  const RankOutcome& outcome = job.ranks[static_cast<std::size_t>(*first)];
  std::string text = fmt::format("\n{}lockstep: rank {} {}{}, {} after the start.{}\n", colour ? "\x1b[1;31m" : "",
                                 *first, job.ranks.size() > 1 ? "failed first: it " : "", how_it_ended(outcome),
                                 seconds(outcome.ended - job.started), colour ? "\x1b[0m" : "");
  if (const std::string likely = hint(outcome); !likely.empty()) text += row("why", {likely}, colour);
  text += row("program", {quoted(context.command)}, colour);
  const std::vector<std::string> lines = telling(outcome.last_lines);
  text += row("last lines", lines.empty() ? std::vector<std::string>{"(none)"} : lines, colour);
  text += row("others", describe_others(job, *first, context), colour);
  if (context.log_dir) text += row("log", {(*context.log_dir / fmt::format("rank{}.log", *first)).string()}, colour);
  return text;
}

std::string describe_interruption(const JobOutcome& job) {
  std::vector<int> killed;
  for (int rank = 0; rank < std::ssize(job.ranks); ++rank) {
    if (job.ranks[static_cast<std::size_t>(rank)].stop == RankOutcome::Stop::kKilled) killed.push_back(rank);
  }
  if (job.interrupted_by == 0 || killed.empty()) return "";
  return fmt::format("{} did not end in time and {} killed.", names_of(killed), killed.size() == 1 ? "was" : "were");
}

}  // namespace lockstep
