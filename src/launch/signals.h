#pragma once

#include "base/file_descriptor.h"

#include <signal.h>

#include <string>
#include <vector>

namespace lockstep {

/// While it lives, the signals that a launcher answers arrive on a descriptor instead of interrupting this thread:
/// SIGCHLD, and, unless they were ignored (nohup does that), those that end a job (SIGINT, SIGTERM, SIGHUP, SIGQUIT,
/// and SIGPIPE when our own output is gone), SIGTSTP, SIGUSR1 and SIGUSR2.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable when a signal has arrived.
  int descriptor() const { return descriptor_.get(); }
  /// Those that have arrived since, in the order of their numbers; a signal that came twice may be there once.
  std::vector<int> take();
  /// Stops this process as SIGTSTP does by default, until it is continued: not at all in an orphaned process group,
  /// where nobody would continue it.
  void suspend();
  /// The signals that were blocked before.
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t before_{};
  FileDescriptor descriptor_;
};

/// "SIGSEGV"
std::string signal_name(int signal);
/// "SIGSEGV (Segmentation fault)"
std::string describe_signal(int signal);

}  // namespace lockstep
