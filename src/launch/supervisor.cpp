#include "launch/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace lockstep {

namespace {

using std::chrono::milliseconds;

// After a failure the others have this long to fail by themselves: a rank of ours then says what it waited for, which
// belongs on the screen.
constexpr milliseconds kSettle{500};
// Children of a rank may outlive it and hold its pipes; what they print is still shown for this long.
constexpr milliseconds kLinger{500};
// What comes within this time is one event: a closed terminal's SIGHUP comes from the kernel and from the shell, and
// `timeout` signals its child and then its whole group. Not SIGINT: who presses Ctrl-C twice means it.
constexpr milliseconds kOneEvent{200};
// Longer than any job, and short enough to be added to a time.
constexpr std::chrono::hours kLongestGrace{24 * 365};

FileDescriptor& pipe_of(Process& process, Stream stream) {
  return stream == Stream::kOutput ? process.output : process.errors;
}

int poll_timeout(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
}

}  // namespace

Supervisor::Supervisor(Signals& signals, Output& output, milliseconds grace, const std::string& job)
    : signals_(signals),
      output_(output),
      grace_(std::min<milliseconds>(grace, kLongestGrace)),
      strays_(job),
      guard_(job) {}

Supervisor::~Supervisor() { reap_all(); }

void Supervisor::add(Process process) {
  guard_.add(process.pid);
  ranks_.push_back({.process = std::move(process)});
}

JobOutcome Supervisor::run() {
  while (!done()) {
    wait_for_something();
    for (const int signal : signals_.take()) answer(signal);
    if (output_.has_no_reader()) answer(SIGPIPE);
    note_ends();
    advance();
  }
  JobOutcome job{.interrupted_by = interrupted_by_, .started = started_};
  for (int rank = 0; rank < std::ssize(ranks_); ++rank) {
    Rank& ended = ranks_[static_cast<std::size_t>(rank)];
    for (const Stream stream : {Stream::kOutput, Stream::kErrors}) {
      if (pipe_of(ended.process, stream)) output_.finish(rank, stream);
    }
    ended.outcome.last_lines = output_.last_lines(rank);
    job.ranks.push_back(ended.outcome);
  }
  reap_all();
  return job;
}

bool Supervisor::all_ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.ended; });
}

bool Supervisor::pipes_are_open() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return rank.process.output || rank.process.errors; });
}

bool Supervisor::done() const {
  if (!all_ended()) return false;
  return !pipes_are_open() || (phase_ == Phase::kKilled && Clock::now() >= deadline_);
}

void Supervisor::wait_for_something() {
  struct Source {
    int rank;
    Stream stream;
  };
  std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}};
  std::vector<Source> sources{{}};
  for (int rank = 0; rank < std::ssize(ranks_); ++rank) {
    for (const Stream stream : {Stream::kOutput, Stream::kErrors}) {
      const FileDescriptor& pipe = pipe_of(ranks_[static_cast<std::size_t>(rank)].process, stream);
      if (!pipe) continue;
      polled.push_back({pipe.get(), POLLIN, 0});
      sources.push_back({rank, stream});
    }
  }
  output_.add_awaited(polled);
  if (::poll(polled.data(), polled.size(), poll_timeout(deadline_)) <= 0) return;
  for (std::size_t i = 1; i < polled.size(); ++i) {
    if (polled[i].revents == 0) continue;
    if (i >= sources.size()) {
      output_.go_on();
    } else {
      read_from(sources[i].rank, sources[i].stream);
    }
  }
}

void Supervisor::read_from(int rank, Stream stream) {
  std::array<char, std::size_t{64} * 1024> buffer;
  FileDescriptor& pipe = pipe_of(ranks_[static_cast<std::size_t>(rank)].process, stream);
  const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got > 0) {
    output_.add(rank, stream, {buffer.data(), static_cast<std::size_t>(got)});
  } else {
    output_.finish(rank, stream);
    pipe.reset();
  }
}

void Supervisor::answer(int signal) {
  switch (signal) {
    case SIGCHLD: return;  // note_ends looks at all of them
    case SIGTSTP: return suspend();
    case SIGUSR1:
    case SIGUSR2: return signal_ranks(signal);
    default: break;
  }
  const bool stopping = phase_ == Phase::kStopping || phase_ == Phase::kKilled;
  if (signal == SIGPIPE) {
    // Nobody reads what we print (`| head`): end as any program would, without telling the ranks of a pipe not theirs.
    if (stopping) return;
    interrupted_by_ = signal;
    return stop(SIGTERM, grace_);
  }
  const Clock::time_point now = Clock::now();
  if (stopping && signal != SIGINT && now - interrupted_at_ < kOneEvent) return;
  output_.hurry();
  if (stopping) return kill_all();
  interrupted_at_ = now;
  if (phase_ == Phase::kRunning) interrupted_by_ = signal;
  output_.say(fmt::format("{} came; the ranks have {} s to end, and a second one kills them.", signal_name(signal),
                          static_cast<double>(grace_.count()) / 1000));
  stop(signal, grace_);
}

/// Ranks that have ended stay zombies until the job is over: so their number, which is also their group's, is not given
/// to a stranger whom we would then signal.
void Supervisor::note_ends() {
  for (Rank& rank : ranks_) {
    if (rank.ended) continue;
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(rank.process.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) continue;
    if (info.si_pid == 0) continue;
    rank.ended = true;
    rank.outcome.ended = Clock::now();
    if (info.si_code == CLD_EXITED) {
      rank.outcome.code = info.si_status;
    } else {
      rank.outcome.signal = info.si_status;
      rank.outcome.dumped_core = info.si_code == CLD_DUMPED;
    }
  }
}

void Supervisor::advance() {
  const bool due = Clock::now() >= deadline_;
  switch (phase_) {
    case Phase::kRunning: {
      const bool failed = std::any_of(ranks_.begin(), ranks_.end(),
                                      [](const Rank& rank) { return rank.ended && rank.outcome.failed(); });
      if (failed) return enter(Phase::kSettling, kSettle);
      if (all_ended()) return enter(Phase::kLingering, kLinger);
      return;
    }
    case Phase::kSettling:
      if (due) stop(SIGTERM, grace_);
      return;
    case Phase::kLingering:
      if (due) stop(SIGTERM, std::min(grace_, kLinger));
      return;
    case Phase::kStopping:
      if (due) kill_all();
      return;
    case Phase::kKilled:
      // One that the kernel cannot end yet (it waits for a disk) is waited for, but not in a busy loop.
      if (due && !all_ended()) enter(Phase::kKilled, kLinger);
      return;
  }
}

void Supervisor::enter(Phase phase, milliseconds lasting) {
  phase_ = phase;
  deadline_ = Clock::now() + lasting;
}

void Supervisor::stop(int signal, milliseconds grace) {
  output_.hurry();
  mark_stopped(RankOutcome::Stop::kAsked);
  signal_ranks(signal);
  signal_ranks(SIGCONT);  // one that is suspended would not see it
  enter(Phase::kStopping, grace);
}

void Supervisor::kill_all() {
  mark_stopped(RankOutcome::Stop::kKilled);
  end_all();
  enter(Phase::kKilled, kLinger);
}

/// Ctrl-Z reaches us alone, since the ranks are in groups of their own: take them along.
void Supervisor::suspend() {
  signal_ranks(SIGSTOP);
  signals_.suspend();
  signal_ranks(SIGCONT);
}

void Supervisor::signal_ranks(int signal) {
  std::vector<pid_t> groups;
  groups.reserve(ranks_.size());
  for (const Rank& rank : ranks_) groups.push_back(rank.process.pid);
  for (const pid_t group : groups) ::kill(-group, signal);
  strays_.signal(signal, groups);
}

void Supervisor::mark_stopped(RankOutcome::Stop stop) {
  note_ends();  // who has ended by now did so by itself
  for (Rank& rank : ranks_) {
    if (!rank.ended) rank.outcome.stop = stop;
  }
}

void Supervisor::end_all() {
  signal_ranks(SIGKILL);
  strays_.kill();
}

void Supervisor::reap_all() {
  end_all();
  guard_.dismiss();
  for (const Rank& rank : ranks_) ::waitpid(rank.process.pid, nullptr, 0);
  ranks_.clear();
}

}  // namespace lockstep
