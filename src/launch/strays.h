#pragma once

#include <sys/types.h>

#include <span>
#include <string>

namespace lockstep {

/// What ranks of a job started and what has left their process groups, as `timeout` does, or a shell with job control:
/// whatever bears the job's identity in the environment that it was started with, in the session of whoever made this.
/// A process in a session of its own (setsid) asks to outlive the job.
class Strays {
 public:
  /// `job` is the value of LOCKSTEP_JOB in the ranks.
  explicit Strays(const std::string& job);

  /// Sends them a signal, but for those in these groups, which have had it. A process that may not be looked at is
  /// none.
  void signal(int signal, std::span<const pid_t> groups) const;
  /// Kills them, and what they start meanwhile.
  void kill() const;

 private:
  /// How many it was sent to.
  int signal_all(int signal, std::span<const pid_t> groups) const;

  std::string mark_;  ///< as it stands in an environment
  pid_t session_;
};

}  // namespace lockstep
