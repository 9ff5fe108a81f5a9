#pragma once

#include "schedule/schedule.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lockstep::cli {

/// "ALGORITHM|FILE [-n N] [--collective C] [--root R] [--local-size L | --hosts H,...] [--segments K]": a schedule as a
/// person names one. Add it to a command, load it in the command's callback; it must live as long as the command.
class ScheduleArgument {
 public:
  void add_to(CLI::App& command);

  /// An algorithm's schedule for the ranks given, or a file's, which must agree with what is given. A file is not
  /// proved here. Throws Error: kInvalidArgument for bad usage (no such algorithm or file, no -n), kRefused for a file
  /// that is no schedule.
  Schedule load() const;

  /// The host of each of so many ranks, by --local-size or --hosts; empty without. Throws Error (kInvalidArgument).
  std::vector<int> hosts(int ranks) const;

 private:
  Schedule load_file() const;
  Schedule build() const;

  std::string command_;  ///< to which it was added
  std::string what_;
  std::string ranks_;
  std::string collective_;
  std::string root_;
  std::string local_size_;
  std::string hosts_;
  std::string segments_ = "1";
};

/// What --segments says, 1 or more. Throws Error (kInvalidArgument) if that is no number of segments.
int parse_segments(const std::string& text);
/// Throws Error (kInvalidArgument) if the algorithm's name has a number of segments and there are several.
void require_one_cut(const std::string& algorithm, int segments);
/// The schedule as a pipeline of so many, no larger than what is proved. Throws Error (kInvalidArgument).
Schedule in_segments(const Schedule& schedule, const std::string& segments);

/// Reads a file with a schedule, which is not proved here. Throws Error: kInvalidArgument if there is no such file,
/// kRefused if it holds no schedule.
Schedule load_schedule(const std::string& path);

/// Throws Error (kInvalidArgument) of --root, which is given, if the collective has none.
void require_root(Collective collective);
/// Throws Error (kInvalidArgument) if what --collective says, if anything, is not what the schedule in that file is
/// for.
void require_of_collective(const Schedule& schedule, const std::string& path, const std::string& collective);
/// Throws Error (kInvalidArgument) if what --root says, if anything, is not the root of the schedule in that file.
void require_of_root(const Schedule& schedule, const std::string& path, const std::string& root);
/// Why such an option is not taken beside a file.
std::string no_hosts_of_files(const char* option);

/// For what takes long: throws Error (kInvalidArgument) if write_output() could not write to this file.
void require_writable(const std::string& file);
/// Writes to a file, which never holds half of it, or to stdout where there is none. Throws Error (kIo).
void write_output(const std::string& file, const std::string& content);

}  // namespace lockstep::cli
