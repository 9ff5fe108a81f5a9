#include "launch/guard.h"

#include "launch/strays.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace lockstep {

namespace {

constexpr pid_t kAllIsOver = 0;

[[noreturn]] void watch(int channel, int of_launcher, const Strays& strays) {
  ::prctl(PR_SET_NAME, "lockstep-guard");
  ::setsid();  // no signal meant for the job's terminal or groups reaches it
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // It must hold nothing open that somebody waits to be closed: our stdout, a pipe of the shell.
  ::dup2(channel, 0);
  ::close(of_launcher);                 // else it would wait for itself
  if (::close_range(1, ~0U, 0) != 0) {  // before Linux 5.9, or forbidden
    const auto most = static_cast<int>(::sysconf(_SC_OPEN_MAX));
    for (int descriptor = 1; descriptor < most; ++descriptor) ::close(descriptor);
  }
  std::vector<pid_t> groups;
  pid_t message = kAllIsOver;
  ssize_t got = 0;
  while ((got = ::read(0, &message, sizeof message)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (message == kAllIsOver) ::_exit(0);
    groups.push_back(message);
  }
  for (const pid_t group : groups) ::kill(-group, SIGKILL);
  strays.kill();
  ::_exit(0);
}

}  // namespace

Guard::Guard(const std::string& job) {
  const Strays strays(job);
  // Messages, not a stream: each number arrives whole. Writing to a guard that somebody killed must not signal us.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw_system_error("Making a socket to the process that guards the job");
  channel_ = FileDescriptor(ends[0]);
  const FileDescriptor other(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0) throw_system_error("Starting the process that guards the job");
  if (pid_ == 0) watch(other.get(), channel_.get(), strays);
}

void Guard::dismiss() {
  if (pid_ < 0) return;
  add(kAllIsOver);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Guard::add(pid_t group) { ::send(channel_.get(), &group, sizeof group, MSG_NOSIGNAL); }

}  // namespace lockstep
