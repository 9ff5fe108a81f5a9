#include "cli/schedule_argument.h"

#include "algorithms/catalog.h"
#include "base/atomic_file.h"
#include "base/nearest.h"
#include "base/refuse.h"
#include "base/standard_streams.h"
#include "cli/numbers.h"
#include "report/writable.h"
#include "schedule/promise.h"
#include "schedule/ranges.h"
#include "schedule/relabelled.h"
#include "schedule/segmented.h"
#include "schedule/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

namespace lockstep::cli {

namespace {

std::vector<std::string_view> collective_names() {
  std::vector<std::string_view> names;
  names.reserve(kCollectives.size());
  for (const Collective collective : kCollectives) names.push_back(to_string(collective));
  return names;
}

/// A number from 0 up for each rank.
std::vector<int> parse_hosts(const std::string& text, int ranks) {
  std::vector<int> hosts;
  std::istringstream words(text + ',');  // so that what ends with a comma has an empty word behind it
  for (std::string word; std::getline(words, word, ',');) {
    const auto host = parse_between(word, 0, ranks - 1);
    if (!host) refuse(fmt::format("--hosts takes the hosts' numbers, from 0 to {}; '{}' is not one.", ranks - 1, word));
    hosts.push_back(*host);
  }
  if (hosts.size() == static_cast<std::size_t>(ranks)) return hosts;
  refuse(fmt::format("--hosts takes a number for each of the {} ranks, as in 0,1,0,1; '{}' has {}.", ranks, text,
                     hosts.size()));
}

}  // namespace

void ScheduleArgument::add_to(CLI::App& command) {
  command_ = command.get_name();
  command.add_option("schedule", what_, "An algorithm (`lockstep info` lists them) or a file with a schedule")
      ->type_name("ALGORITHM|FILE");
  command.add_option("-n,--ranks", ranks_, "Ranks of the schedule (a file says its own)")->type_name("N");
  command.add_option("--collective", collective_,
                     fmt::format("{} (default: all_reduce; a file says its own)", fmt::join(collective_names(), ", ")));
  command
      .add_option("--root", root_,
                  "The rank that a broadcast or scatter starts from, a reduce or gather ends at (default: 0)")
      ->type_name("RANK");
  command
      .add_option("--local-size", local_size_, "Ranks on each host, neighbours in rank, for hierarchical:LOCAL,GLOBAL")
      ->type_name("RANKS");
  command
      .add_option("--hosts", hosts_,
                  "The number of each rank's host, as in 0,1,0,1: rings and swing go along hosts; beside --local-size")
      ->type_name("HOST,...");
  command
      .add_option("--segments", segments_,
                  "Slices of each chunk, which follow each other through the steps (default: 1)")
      ->type_name("K");
}

/// With so many neighbours on each, or as they are listed.
std::vector<int> ScheduleArgument::hosts(int ranks) const {
  if (!hosts_.empty() && !local_size_.empty()) {
    refuse("--local-size and --hosts both say which ranks share a host; leave out one of the two.");
  }
  if (!hosts_.empty()) return parse_hosts(hosts_, ranks);
  if (local_size_.empty()) return {};
  return hosts_of_neighbours(ranks, parse_local_size(local_size_, ranks));
}

Schedule ScheduleArgument::load() const {
  if (what_.empty())
    refuse(fmt::format("An algorithm or a file with a schedule is needed, as in: lockstep {} ring -n 4", command_));
  return in_segments(is_algorithm(what_) ? build() : load_file(), segments_);
}

Schedule ScheduleArgument::build() const {
  if (ranks_.empty()) {
    refuse(fmt::format("The algorithm '{0}' needs a number of ranks, as in: lockstep {1} {0} -n 4", what_, command_));
  }
  ScheduleRequest request{.ranks = parse_ranks(ranks_)};
  if (request.ranks > kMostRanks) {
    refuse(fmt::format("Schedules of at most {} ranks are shown and proved; -n says {}.", kMostRanks, request.ranks));
  }
  if (!collective_.empty()) request.collective = parse_collective(collective_);
  if (!root_.empty()) {
    require_root(request.collective);
    request.root = parse_root(root_, request.ranks);
  }
  request.hosts = hosts(request.ranks);
  const Algorithm algorithm = find_algorithm(what_);
  require_one_cut(what_, parse_segments(segments_));
  const auto pipeline = pipeline_of(what_);
  if (composition_of(pipeline ? pipeline->algorithm : what_) && request.hosts.empty()) {
    refuse(fmt::format("'{0}' needs to know which ranks share a host, as in: lockstep {1} {0} -n 8 --local-size 4",
                       what_, command_));
  }
  algorithm.require_support(request.collective);
  return algorithm.build(request);
}

int parse_segments(const std::string& text) {
  if (const auto number = parse_between(text, 1, kMostChunks)) return *number;
  refuse(fmt::format("--segments takes a number from 1 to {}; '{}' is not one.", kMostChunks, text));
}

void require_one_cut(const std::string& algorithm, int segments) {
  if (segments == 1 || !pipeline_of(algorithm)) return;
  refuse(fmt::format("'{}' says into how many segments; leave out --segments.", algorithm));
}

Schedule in_segments(const Schedule& schedule, const std::string& segments) {
  const int number = parse_segments(segments);
  const auto refuse_it = [&](const std::string& reason) {
    refuse(number > 1 ? fmt::format("--segments {}: {}.", segments, reason)
                      : fmt::format("The schedule '{}' is too large: {}.", schedule.name, reason));
  };
  if (transfers_of(schedule) * number > kMostTransfersInSegments) {
    refuse_it(fmt::format("more than {} transfers are neither shown nor proved", kMostTransfersInSegments));
  }
  Schedule bounds{.name = {}, .collective = schedule.collective, .ranks = schedule.ranks, .root = schedule.root};
  bounds.chunks =
      static_cast<int>(std::min<std::int64_t>(std::int64_t{schedule.chunks} * number, std::numeric_limits<int>::max()));
  if (const auto refusal = check_shape(bounds)) refuse_it(refusal->sentence);
  if (!schedule.steps.empty()) bounds.steps.resize(schedule.steps.size() + static_cast<std::size_t>(number) - 1);
  if (const auto refusal = check_step_count(bounds)) refuse_it(refusal->sentence);
  return segmented(schedule, number);
}

Schedule load_schedule(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    if (path == "auto")
      refuse("'auto' is an algorithm for each size, not one; `lockstep info -n N` says which on N ranks.");
    if (path == kVendor)
      refuse("'vendor' is the MPI library's own, of which no schedule is known; `lockstep bench` runs it.");
    refuse(fmt::format("There is no algorithm and no file '{}'. {}", path, suggestion(path, algorithm_names())));
  }
  if (!std::filesystem::is_regular_file(status)) refuse(fmt::format("'{}' is not a file with a schedule.", path));
  return parse_schedule(read_file(path, kMostTextBytes + 1), path);
}

void require_root(Collective collective) {
  if (has_root(collective)) return;
  refuse(fmt::format("--root is for broadcast, scatter, reduce and gather; {} has none.", to_string(collective)));
}

void require_of_collective(const Schedule& schedule, const std::string& path, const std::string& collective) {
  if (collective.empty() || parse_collective(collective) == schedule.collective) return;
  refuse(fmt::format("'{}' is a schedule for {}, not {}; leave out --collective.", path, to_string(schedule.collective),
                     collective));
}

void require_of_root(const Schedule& schedule, const std::string& path, const std::string& root) {
  if (root.empty() || parse_root(root, schedule.ranks) == schedule.root) return;
  refuse(fmt::format("'{}' is a schedule with root {}, not {}; leave out --root.", path, schedule.root, root));
}

Schedule ScheduleArgument::load_file() const {
  Schedule schedule = load_schedule(what_);
  if (!ranks_.empty() && parse_ranks(ranks_) != schedule.ranks) {
    refuse(fmt::format("'{}' is a schedule for {} ranks, not {}; leave out -n.", what_, schedule.ranks, ranks_));
  }
  require_of_collective(schedule, what_, collective_);
  require_of_root(schedule, what_, root_);
  if (!local_size_.empty()) refuse(no_hosts_of_files("--local-size"));
  if (!hosts_.empty()) refuse(no_hosts_of_files("--hosts"));
  return schedule;
}

std::string no_hosts_of_files(const char* option) {
  return fmt::format("{} is for algorithms; a file says between which ranks it moves what.", option);
}

void require_writable(const std::string& file) {
  const std::error_code obstacle = file.empty() ? std::error_code() : obstacle_of_replacing(file, {});
  if (!obstacle) return;
  refuse(fmt::format("--output {} cannot be written: {}; name another file.", file, obstacle.message()));
}

void write_output(const std::string& file, const std::string& content) {
  if (!file.empty()) return write_file_atomically(file, content);
  write_to_stdout(content);
}

}  // namespace lockstep::cli
