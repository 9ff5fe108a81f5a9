#include "group/progress_thread.h"

#include <sys/eventfd.h>
#include <csignal>

#include <utility>

namespace lockstep::detail {

namespace {

FileDescriptor make_bell() {
  FileDescriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) throw_system_error("eventfd");
  return bell;
}

/// Signals are the program's threads': one that is made under this takes none.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

ProgressThread::ProgressThread(Step step, std::size_t most_sockets) : step_(std::move(step)), bell_(make_bell()) {
  sockets_.reserve(1 + most_sockets);
  const NoSignals here;
  thread_ = std::thread([this] { run(); });
}

ProgressThread::~ProgressThread() {
  if (!process_.is_this()) {
    thread_.detach();  // a forked child has no such thread to wait for
    return;
  }
  stopping_ = true;
  wake();
  thread_.join();
}

void ProgressThread::wake() noexcept { ::eventfd_write(bell_.get(), 1); }

void ProgressThread::run() {
  ::eventfd_t rings = 0;
  do {
    sockets_.assign(1, {bell_.get(), POLLIN, 0});
    std::this_thread::sleep_for(step_(sockets_));
    ::poll(sockets_.data(), sockets_.size(), -1);
    ::eventfd_read(bell_.get(), &rings);
  } while (!stopping_);
}

}  // namespace lockstep::detail
