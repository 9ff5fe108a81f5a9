#pragma once

#include <string_view>
#include <utility>

namespace lockstep {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), is_kept_(std::exchange(other.is_kept_, false)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
      is_kept_ = std::exchange(other.is_kept_, false);
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();
  /// A child that is forked from now on has /dev/null in its place, so that what it leads to sees it closed when this
  /// process ends, whatever the child does. Throws Error (kTransport), std::bad_alloc.
  void keep_from_children();

 private:
  int fd_ = -1;
  bool is_kept_ = false;
};

/// Whether this error says that descriptors or memory have run out: to try again at once is of no use.
bool lacks_means(int error);

/// Throws Error (kTransport): "<what> failed: <strerror(errno)>."
[[noreturn]] void throw_system_error(std::string_view what);

}  // namespace lockstep
