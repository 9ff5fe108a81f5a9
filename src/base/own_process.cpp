#include "base/own_process.h"

#include "base/file_descriptor.h"

#include <pthread.h>

#include <cerrno>

namespace lockstep {

OwnProcess::OwnProcess() : forks_(forks_before.load(std::memory_order_relaxed)) {
  static const int kError = ::pthread_atfork(nullptr, nullptr, [] { ++forks_before; });
  if (kError == 0) return;
  errno = kError;
  throw_system_error("pthread_atfork");
}

}  // namespace lockstep
