#include "base/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <vector>

namespace lockstep {

namespace {

/// What children of this process must not hold. Nothing is added or taken away while the process forks.
class KeptFromChildren {
 public:
  static KeptFromChildren& of_this_process() {
    static auto* const kAll = new KeptFromChildren;  // used at the process's very end
    return *kAll;
  }

  void add(int fd) {
    const std::lock_guard lock(mutex_);
    fds_.push_back(fd);
  }
  void close(int fd) {
    const std::lock_guard lock(mutex_);
    fds_.erase(std::find(fds_.begin(), fds_.end(), fd));
    ::close(fd);
  }

 private:
  KeptFromChildren() {
    const auto lock = [] { of_this_process().mutex_.lock(); };
    const auto unlock = [] { of_this_process().mutex_.unlock(); };
    const int error = ::pthread_atfork(lock, unlock, [] { of_this_process().leave_to_parent(); });
    if (error == 0) return;
    errno = error;
    throw_system_error("pthread_atfork");
  }

  /// In a child, with the mutex locked. Their numbers stay taken, since the child's copies of who owns them close them.
  void leave_to_parent() {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : fds_) nothing < 0 ? ::close(fd) : ::dup3(nothing, fd, O_CLOEXEC);
    if (nothing >= 0) ::close(nothing);
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<int> fds_;
};

}  // namespace

void FileDescriptor::reset() {
  if (fd_ < 0) return;
  is_kept_ ? KeptFromChildren::of_this_process().close(fd_) : static_cast<void>(::close(fd_));
  fd_ = -1;
  is_kept_ = false;
}

void FileDescriptor::keep_from_children() {
  if (fd_ < 0 || is_kept_) return;
  KeptFromChildren::of_this_process().add(fd_);
  is_kept_ = true;
}

bool lacks_means(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

void throw_system_error(std::string_view what) {
  const int error = errno;
  throw Error(ErrorCode::kTransport, fmt::format("{} failed: {}.", what, std::generic_category().message(error)));
}

}  // namespace lockstep
