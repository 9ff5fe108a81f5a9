#include "schedule/text.h"

#include "base/nearest.h"
#include "base/units.h"
#include "schedule/promise.h"
#include "schedule/ranges.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <vector>

namespace lockstep {

namespace {

constexpr std::string_view kFirstLine = "lockstep-schedule 1";
constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kLongestName = 80;  // a pipeline of a composition has 66

bool is_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:,";
  return !name.empty() && name.size() <= kLongestName && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return words;
}

std::string rule_for_names() { return fmt::format("1 to {} letters, digits and '_-.:,'", kLongestName); }

/// As many whole lines as may be read; the last one too where so much of it is there that its length is refused.
std::string_view readable_part(std::string_view text) {
  if (text.size() <= kMostTextBytes) return text;
  const std::string_view part = text.substr(0, kMostTextBytes);
  const std::size_t lines = part.rfind('\n') + 1;
  return part.size() - lines > kLongestLine ? part : part.substr(0, lines);
}

/// Goes through the lines, and knows where it is when something is wrong.
class Parser {
 public:
  Parser(std::string_view text, std::string_view source)
      : rest_(readable_part(text)), source_(source), is_too_long_(text.size() > kMostTextBytes) {}

  Schedule parse() {
    if (!next_line() || words_of(line_) != words_of(kFirstLine)) {
      refuse(fmt::format("a schedule begins with the line '{}'", kFirstLine));
    }
    Schedule schedule;
    schedule.name = value_of("name");
    if (!is_name(schedule.name)) refuse("a name is " + rule_for_names());
    const std::string_view collective = value_of("collective");
    try {
      schedule.collective = parse_collective(collective);
    } catch (const Error& error) {
      refuse(error.what());
    }
    schedule.ranks = number(value_of("ranks"));
    require_none(check_ranks(schedule));
    schedule.chunks = number(value_of("chunks"));
    require_none(check_chunks(schedule));
    schedule.root = number(value_of("root"));
    require_none(check_shape(schedule));
    read_steps(schedule);
    while (next_line()) refuse("nothing may follow 'end'");
    return schedule;
  }

 private:
  [[noreturn]] void refuse(std::string_view reason) const {
    const bool is_ended = reason.back() == '.' || reason.back() == '?';
    throw Error(ErrorCode::kRefused,
                fmt::format("{}, line {}: {}{}", source_, number_of_line_, reason, is_ended ? "" : "."));
  }

  void require_none(const std::optional<Refusal>& refusal) const {
    if (refusal) refuse(refusal->sentence);
  }

  /// The next line that says something.
  bool next_line() {
    while (!rest_.empty()) {
      ++number_of_line_;
      // Not searched for beyond what a line may have: a text of one line is refused at once, however long.
      const std::size_t end = std::min(rest_.substr(0, kLongestLine + 2).find('\n'), rest_.size());
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
      if (line_.size() > kLongestLine) refuse(fmt::format("the line is longer than {} characters", kLongestLine));
      const auto is_printable = [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; };
      if (!std::all_of(line_.begin(), line_.end(), is_printable)) refuse("this is not text (printable ASCII)");
      const std::size_t first = line_.find_first_not_of(' ');
      if (first == std::string_view::npos || line_[first] == '#') continue;
      if (line_.find('\t') != std::string_view::npos) refuse("there is a tab; words are parted by spaces");
      return true;
    }
    ++number_of_line_;
    if (is_too_long_)
      refuse(fmt::format("the text is longer than {}, the most that is read", format_bytes(kMostTextBytes)));
    return false;
  }

  std::string_view value_of(std::string_view key) {
    if (!next_line()) refuse(fmt::format("the text ends where '{} ...' is expected", key));
    const auto words = words_of(line_);
    if (words.size() != 2 || words[0] != key) refuse(fmt::format("expected '{} ...', not '{}'", key, line_));
    return words[1];
  }

  int number(std::string_view word) const {
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool is_whole = error == std::errc{} && end == word.data() + word.size();
    if (!is_whole || (value == 0 && word.starts_with('-'))) {
      refuse(fmt::format("'{}' is not a number that can be meant here", word));
    }
    return value;
  }

  void read_steps(Schedule& schedule) {
    while (next_line()) {
      const auto words = words_of(line_);
      if (words[0] != "step" && words[0] != "end") {
        add_transfer(schedule, words);
        continue;
      }
      if (words.size() > 1) refuse(fmt::format("expected '{}' alone, not '{}'", words[0], line_));
      if (words[0] == "end") return;
      schedule.steps.emplace_back();
      require_none(check_step_count(schedule));
    }
    refuse("the text ends without the line 'end': it was cut short");
  }

  void add_transfer(Schedule& schedule, const std::vector<std::string_view>& words) const {
    if (words[0] != "copy" && words[0] != "reduce") {
      refuse(
          fmt::format("'{}' is not known here. {}", words[0], suggestion(words[0], {"step", "copy", "reduce", "end"})));
    }
    if (words.size() != 6 || words[2] != "from" || words[4] != "to") {
      refuse(fmt::format("expected '{} CHUNK from RANK to RANK', not '{}'", words[0], line_));
    }
    if (schedule.steps.empty()) refuse("a transfer stands before the first line 'step'");
    const Transfer transfer{words[0] == "copy" ? TransferKind::kCopy : TransferKind::kReduce, number(words[1]),
                            number(words[3]), number(words[5])};
    require_none(check_transfer(schedule, static_cast<int>(schedule.steps.size()) - 1, transfer));
    schedule.steps.back().push_back(transfer);
  }

  std::string_view rest_;
  std::string_view source_;
  std::string_view line_;
  bool is_too_long_;
  std::size_t number_of_line_ = 0;
};

}  // namespace

std::string to_text(const Schedule& schedule) {
  if (!is_name(schedule.name)) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("A schedule's name is {}; this one cannot be written as text.", rule_for_names()));
  }
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "{}\nname {}\ncollective {}\nranks {}\nchunks {}\nroot {}\n", kFirstLine, schedule.name,
                 to_string(schedule.collective), schedule.ranks, schedule.chunks, schedule.root);
  for (const Step& step : schedule.steps) {
    text += "step\n";
    for (const auto& [kind, chunk, from, to] : step) {
      fmt::format_to(out, "{} {} from {} to {}\n", kind == TransferKind::kCopy ? "copy" : "reduce", chunk, from, to);
    }
  }
  text += "end\n";
  if (text.size() <= kMostTextBytes) return text;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The text of '{}' would have {}; {} is the most that is read. Cut it into fewer segments.",
                          schedule.name, format_bytes(text.size()), format_bytes(kMostTextBytes)));
}

Schedule parse_schedule(std::string_view text, std::string_view source_name) {
  return Parser(text, source_name).parse();
}

Collective parse_collective(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Collective collective : kCollectives) {
    if (to_string(collective) == name) return collective;
    names.push_back(to_string(collective));
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("There is no collective '{}'. {}", name, suggestion(name, names)));
}

}  // namespace lockstep
