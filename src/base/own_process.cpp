#include "base/own_process.h"

#include "base/file_descriptor.h"

#include <pthread.h>

#include <cerrno>

namespace lockstep {

OwnProcess::OwnProcess() : forks_(forks_before_.load(std::memory_order_relaxed)) {
  static const int error = ::pthread_atfork(nullptr, nullptr, [] { ++forks_before_; });
  if (error == 0) return;
  errno = error;
  throw_system_error("pthread_atfork");
}

}  // namespace lockstep
