#pragma once

#include "base/file_descriptor.h"

#include <sys/types.h>

#include <string>

namespace lockstep {

/// A small process that outlives this one by a moment: if this one is killed, it kills the process groups it was told
/// of, and the job's strays. The kernel does that for the ranks themselves (PR_SET_PDEATHSIG), but not for what they
/// started: a training behind a shell script would go on for ever with nobody to see it.
class Guard {
 public:
  /// `job` is the value of LOCKSTEP_JOB in the ranks. Throws Error (kTransport) if the system gives no process.
  explicit Guard(const std::string& job);
  ~Guard() { dismiss(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void add(pid_t group);
  /// All is over in good order: ends the guard, which then kills nobody. To be called while the groups are still known
  /// by their numbers, which the system gives to others once they are waited for.
  void dismiss();

 private:
  FileDescriptor channel_;
  pid_t pid_ = -1;
};

}  // namespace lockstep
