#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct LaunchOptions {
  std::vector<std::string> command;  ///< the program, found along PATH as a shell would, and its arguments
  int ranks = 1;                     ///< processes to start, from 1 up
  bool pin = true;  ///< bind each rank to its share of the cores; to one of them, in turn, where there are not enough
  std::chrono::milliseconds grace{5000};  ///< from SIGTERM to SIGKILL, when ranks are stopped
  std::optional<std::filesystem::path>
      log_dir;  ///< a file for each rank there: rank0.log holds what it printed, as it was
  /// This rank's stdout is ours, so that it may draw on the terminal, and what it writes to stderr gets no prefix:
  /// people see it as the program itself. Its stdout is in no log. -1: there is no such rank.
  int pass_through_rank = -1;
  /// A rank that exits with this code has said all there is to say: no screen about it. 0: there is no such code.
  int quiet_exit_code = 0;
};

/// Runs a job of processes on this host and returns when all have ended: 0, or the exit code of the rank that failed
/// first, or 128 + the number of the signal that ended it (or us); 1 where none did and what they printed was lost (a
/// full disk, or more than 16 MiB that nobody read while the job was being ended).
///
/// Each rank gets torchrun's variables, its share of the cores, and a process group of its own. What it prints comes
/// out on our stdout and stderr line by line, with the rank before each line. When one fails, the others are stopped
/// and stderr gets one screen about it. SIGINT, SIGTERM, SIGHUP and SIGQUIT are forwarded and end the job; a second
/// one kills it, unless both come at once. When this returns, nothing is left of what the ranks started (what must
/// outlive a job does so by setsid), and if this process is killed, so are they. Stdin, unless it is a terminal, goes
/// to rank 0; the others read nothing.
///
/// Call it from a process with one thread. Throws Error (kInvalidArgument) if the job cannot be started as asked: more
/// ranks than most_ranks_on() the cores that this process may use, no such program, a log folder that cannot be
/// written. Then nothing was started, or it was ended again.
int launch(const LaunchOptions& options);

/// As many as make sense where they take turns: 64 a core, and 256 in any case, for tests on small machines.
int most_ranks_on(int cores);

}  // namespace lockstep
