#include "group/progress_thread.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/eventfd.h>

#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

namespace lockstep::detail {

namespace {

FileDescriptor make_bell() {
  FileDescriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) throw_system_error("Making what wakes the background's thread (eventfd)");
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
  if (const int error = ::pthread_create(&thread_, nullptr, enter, this); error != 0) {
    throw Error(ErrorCode::kTransport,
                fmt::format("The background's thread could not be started: {}. Let this user have more (ulimit -u), or "
                            "ask for nothing in the background.",
                            std::strerror(error)));
  }
}

ProgressThread::~ProgressThread() {
  // A forked child has no such thread to wait for, and may have given its number to another.
  if (!process_.is_this()) return;
  stopping_ = true;
  wake();
  ::pthread_join(thread_, nullptr);
}

void* ProgressThread::enter(void* self) {
  static_cast<ProgressThread*>(self)->run();
  return nullptr;
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
