#include "launch/signals.h"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstring>

namespace lockstep {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Signals::Signals() {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2}) {
    if (!is_ignored(signal)) ::sigaddset(&mask, signal);
  }
  // Ignored by whoever started us, ranks that end would leave nothing to be asked about.
  ::signal(SIGCHLD, SIG_DFL);
  descriptor_ = FileDescriptor(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) throw_system_error("Making a descriptor for signals");
  ::sigprocmask(SIG_BLOCK, &mask, &before_);
}

Signals::~Signals() {
  take();  // what is pending was meant for the job, which is over
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::vector<int> Signals::take() {
  std::vector<int> signals;
  signalfd_siginfo info;
  while (::read(descriptor_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    signals.push_back(static_cast<int>(info.ssi_signo));
  }
  return signals;
}

void Signals::suspend() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // here it stops
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string describe_signal(int signal) {
  const char* description = ::sigdescr_np(signal);
  return description != nullptr ? fmt::format("{} ({})", signal_name(signal), description) : signal_name(signal);
}

}  // namespace lockstep
