#pragma once

#include "base/file_descriptor.h"
#include "topology/cpus.h"

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace lockstep {

struct ProcessPlan {
  std::string path;                      ///< of the program
  std::vector<std::string> arguments;    ///< from argv[0] on
  std::vector<std::string> environment;  ///< "NAME=value"
  CpuSet cpus;                           ///< to bind it to; empty: it runs where we may
  bool inherit_stdin = false;            ///< else it reads /dev/null
  bool inherit_stdout = false;           ///< else it writes to a pipe of ours
  sigset_t signal_mask{};                ///< the signals that it starts with blocked
};

struct Process {
  pid_t pid = -1;
  FileDescriptor output;  ///< what it writes to stdout; empty if that is inherited
  FileDescriptor errors;  ///< what it writes to stderr
};

/// Starts a process, the leader of a process group of its own, that the kernel kills when this one dies. Returns when
/// the program runs. Throws Error: kInvalidArgument if the program cannot be executed, kTransport if the system gives
/// no process or pipe; then nothing runs.
Process start_process(const ProcessPlan& plan);

}  // namespace lockstep
