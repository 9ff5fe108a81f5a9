#include "cli/schedule_argument.h"

#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "base/nearest.h"
#include "cli/ranks.h"
#include "schedule/promise.h"
#include "schedule/ranges.h"
#include "schedule/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace lockstep::cli {

namespace {

[[noreturn]] void bad_usage(const std::string& sentence) { throw Error(ErrorCode::kInvalidArgument, sentence); }

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) names.push_back(algorithm.name);
  return names;
}

std::vector<std::string_view> collective_names() {
  std::vector<std::string_view> names;
  names.reserve(kCollectives.size());
  for (const Collective collective : kCollectives) names.push_back(to_string(collective));
  return names;
}

bool is_algorithm(std::string_view word) {
  const auto names = algorithm_names();
  return std::find(names.begin(), names.end(), word) != names.end();
}

int parse_root(const std::string& text, int ranks) {
  int root = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, root);
  if (error != std::errc{} || parsed != end || root < 0 || root >= ranks) {
    bad_usage(fmt::format("--root takes a rank from 0 to {}; '{}' is not one.", ranks - 1, text));
  }
  return root;
}

}  // namespace

void ScheduleArgument::add_to(CLI::App& command) {
  command.add_option("schedule", what_, "An algorithm (`lockstep info` lists them) or a file with a schedule")
      ->type_name("ALGORITHM|FILE");
  command.add_option("-n,--ranks", ranks_, "Ranks of the schedule (a file says its own)")->type_name("N");
  command.add_option("--collective", collective_,
                     fmt::format("{} (default: all_reduce; a file says its own)", fmt::join(collective_names(), ", ")));
  command
      .add_option("--root", root_,
                  "The rank that a broadcast or scatter starts from, a reduce or gather ends at (default: 0)")
      ->type_name("RANK");
}

Schedule ScheduleArgument::load() const {
  if (what_.empty()) bad_usage("An algorithm or a file with a schedule is needed, as in: lockstep show ring -n 4");
  return is_algorithm(what_) ? build() : load_file();
}

Schedule ScheduleArgument::build() const {
  if (ranks_.empty()) {
    bad_usage(fmt::format("The algorithm '{0}' needs a number of ranks, as in: lockstep show {0} -n 4", what_));
  }
  ScheduleRequest request{.ranks = parse_ranks(ranks_)};
  if (request.ranks > kMostRanks) {
    bad_usage(
        fmt::format("Schedules of at most {} ranks are shown and proved; -n says {}.", kMostRanks, request.ranks));
  }
  if (!collective_.empty()) request.collective = parse_collective(collective_);
  if (!root_.empty()) {
    if (!has_root(request.collective)) {
      bad_usage(fmt::format("--root is for broadcast, scatter, reduce and gather; {} has none.",
                            to_string(request.collective)));
    }
    request.root = parse_root(root_, request.ranks);
  }
  return find_algorithm(what_).build(request);
}

Schedule load_schedule(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    bad_usage(fmt::format("There is no algorithm and no file '{}'. {}", path, suggestion(path, algorithm_names())));
  }
  if (!std::filesystem::is_regular_file(status)) bad_usage(fmt::format("'{}' is not a file with a schedule.", path));
  return parse_schedule(read_file(path, kMostTextBytes + 1), path);
}

Schedule ScheduleArgument::load_file() const {
  Schedule schedule = load_schedule(what_);
  if (!ranks_.empty() && parse_ranks(ranks_) != schedule.ranks) {
    bad_usage(fmt::format("'{}' is a schedule for {} ranks, not {}; leave out -n.", what_, schedule.ranks, ranks_));
  }
  if (!collective_.empty() && parse_collective(collective_) != schedule.collective) {
    bad_usage(fmt::format("'{}' is a schedule for {}, not {}; leave out --collective.", what_,
                          to_string(schedule.collective), collective_));
  }
  if (!root_.empty() && parse_root(root_, schedule.ranks) != schedule.root) {
    bad_usage(fmt::format("'{}' is a schedule with root {}, not {}; leave out --root.", what_, schedule.root, root_));
  }
  return schedule;
}

void write_output(const std::string& file, const std::string& content) {
  if (!file.empty()) return write_file_atomically(file, content);
  if (std::fwrite(content.data(), 1, content.size(), stdout) != content.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::kIo, fmt::format("The output could not be written: {}.", std::strerror(errno)));
  }
}

}  // namespace lockstep::cli
