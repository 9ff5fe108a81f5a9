#include "launch/launcher.h"

#include "base/units.h"
#include "launch/failure.h"
#include "launch/output.h"
#include "launch/process.h"
#include "launch/program.h"
#include "launch/rank_environment.h"
#include "launch/signals.h"
#include "launch/supervisor.h"
#include "topology/cpus.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace lockstep {

namespace {

/// Two pipes a rank and its log must fit, which is better known before a thousand processes run.
void check_descriptor_limit(int ranks, bool has_logs) {
  rlimit limit{};
  const auto needed = (has_logs ? 3 : 2) * static_cast<rlim_t>(ranks) + 64;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} ranks need {} open files and this shell allows {}: start fewer, or raise it (ulimit -n {}).",
                    ranks, needed, limit.rlim_cur, needed));
  }
}

/// They would take turns for seconds each, and the system might have no room for them.
void check_process_count(int ranks) {
  const int cores = available_cpus().cores;
  const int most = most_ranks_on(cores);
  if (ranks <= most) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} ranks on {} are too many: at most {} are started (64 a core, 256 in any case); ask for "
                          "fewer with -n, or take more machines.",
                          ranks, counted(static_cast<std::uint64_t>(cores), "core"), most));
}

Output::Options output_options(const LaunchOptions& options, const Signals& signals) {
  const bool bar = options.pass_through_rank >= 0 && ::isatty(STDOUT_FILENO) != 0;
  return {.ranks = options.ranks,
          .colour = {wants_colour(STDOUT_FILENO), wants_colour(STDERR_FILENO)},
          .bare_rank = options.pass_through_rank,
          .beside_a_bar = {bar, bar && ::isatty(STDERR_FILENO) != 0},
          .log_dir = options.log_dir,
          .interrupts = signals.descriptor()};
}

/// Rank 0 reads our stdin if that is a file or a pipe. It does not get a terminal: its group is in the background
/// there, so a read would suspend it, and giving it the foreground would take Ctrl-C away from us.
bool stdin_is_for_ranks() { return ::isatty(STDIN_FILENO) == 0; }

/// What all ranks are started from.
struct Start {
  const std::string& path;
  const Job& job;
  const Signals& signals;
};

void start_ranks(const LaunchOptions& options, const Start& start, Output& output, Supervisor& supervisor) {
  const std::vector<std::string> environment = current_environment();
  const std::vector<CpuSet> cpus =
      options.pin ? deal_cpus(options.ranks) : std::vector<CpuSet>(static_cast<std::size_t>(options.ranks));
  const int threads = start.job.cpus;
  if (options.ranks > threads) {
    output.say(fmt::format("{} ranks share {} {}: they take turns, so do not measure speed this way.", options.ranks,
                           threads, threads == 1 ? "core" : "cores"));
  }
  for (int rank = 0; rank < options.ranks; ++rank) {
    supervisor.add(start_process({.path = start.path,
                                  .arguments = options.command,
                                  .environment = rank_environment(start.job, rank, environment),
                                  .cpus = cpus[static_cast<std::size_t>(rank)],
                                  .inherit_stdin = rank == 0 && stdin_is_for_ranks(),
                                  .inherit_stdout = rank == options.pass_through_rank,
                                  .signal_mask = start.signals.mask_before()}));
  }
}

/// As any program ends when nobody reads on (`| head`): no failure to speak of.
bool ended_unread(const JobOutcome& job, int pass_through_rank) {
  const auto first = first_failure(job);
  return first && *first == pass_through_rank && job.ranks[static_cast<std::size_t>(*first)].signal == SIGPIPE;
}

}  // namespace

int most_ranks_on(int cores) {
  constexpr int kInAnyCase = 256;
  constexpr int kACore = 64;
  return std::max(kInAnyCase, kACore * cores);
}

int launch(const LaunchOptions& options) {
  if (options.command.empty()) throw Error(ErrorCode::kInvalidArgument, "There is no program to run.");
  if (options.ranks < 1) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("A job has at least 1 rank, not {}.", options.ranks));
  }
  check_process_count(options.ranks);
  check_descriptor_limit(options.ranks, options.log_dir.has_value());
  const std::string path = find_program(options.command.front());
  Signals signals;
  Output output(output_options(options, signals));
  const Job ranks = make_job(options.ranks, available_cpus());
  Supervisor supervisor(signals, output, options.grace, ranks.id);
  start_ranks(options, {path, ranks, signals}, output, supervisor);
  const JobOutcome job = supervisor.run();
  output.clear_bar();
  const int code = exit_code(job);
  const bool nobody_reads = output.is_unread() && ended_unread(job, options.pass_through_rank);
  if (!nobody_reads) output.show_held_back();
  if (!nobody_reads && (code == 0 || code != options.quiet_exit_code)) {
    output.tell(describe_failure(job, {.command = options.command,
                                       .grace = options.grace,
                                       .log_dir = options.log_dir,
                                       .colour = wants_colour(STDERR_FILENO)}));
  }
  if (const std::string killed = describe_interruption(job); !killed.empty()) output.say(killed);
  (void)signals.take();
  if (job.interrupted_by == 0) output.drain();
  output.say_what_was_dropped();
  return code == 0 && output.lost() ? 1 : code;
}

}  // namespace lockstep
