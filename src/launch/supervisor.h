#pragma once

#include "base/clock.h"
#include "launch/guard.h"
#include "launch/outcome.h"
#include "launch/output.h"
#include "launch/process.h"
#include "launch/signals.h"
#include "launch/strays.h"

#include <chrono>
#include <vector>

namespace lockstep {

/// Watches over the processes of a job from their start to their end, in the calling thread: passes on what they print,
/// forwards signals, stops all when one fails.
///
///   running --a rank fails--> settling --0.5 s--> stopping (SIGTERM) --grace--> killed (SIGKILL)
///      | \--a signal comes, forwarded--------------^                                ^
///      |                                           \--another signal------------/
///      \--all have ended, but somebody holds their pipes--> lingering --0.5 s--> stopping
///
/// It ends when all ranks have ended and their pipes are closed; after a kill it waits for pipes no longer than a
/// moment.
class Supervisor {
 public:
  /// `job` is the value of LOCKSTEP_JOB in the ranks.
  Supervisor(Signals& signals, Output& output, std::chrono::milliseconds grace, const std::string& job);
  /// Ends and reaps what is left.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// The process is the next rank, from 0 up.
  void add(Process process);
  /// Returns when the job has ended and nothing of its process groups is left, nor a stray.
  JobOutcome run();

 private:
  enum class Phase { kRunning, kSettling, kLingering, kStopping, kKilled };
  struct Rank {
    Process process;
    bool ended = false;
    RankOutcome outcome;
  };

  Signals& signals_;
  Output& output_;
  std::chrono::milliseconds grace_;
  Strays strays_;
  Guard guard_;
  std::vector<Rank> ranks_;
  Phase phase_ = Phase::kRunning;
  Clock::time_point deadline_ = Clock::time_point::max();  ///< of the phase
  Clock::time_point started_ = Clock::now();
  int interrupted_by_ = 0;
  Clock::time_point interrupted_at_{};  ///< first, by a signal

  bool done() const;
  bool all_ended() const;
  bool pipes_are_open() const;
  void wait_for_something();
  void read_from(int rank, Stream stream);
  void answer(int signal);
  void note_ends();
  void advance();
  void enter(Phase phase, std::chrono::milliseconds lasting);
  void stop(int signal, std::chrono::milliseconds grace);
  void kill_all();
  void suspend();
  /// Their groups, and what has left them.
  void signal_ranks(int signal);
  void mark_stopped(RankOutcome::Stop stop);
  void end_all();
  void reap_all();
};

}  // namespace lockstep
