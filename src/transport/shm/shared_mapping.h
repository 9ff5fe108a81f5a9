#pragma once

#include "base/file_descriptor.h"

#include <cstddef>

namespace lockstep::shm {

/// Memory that several processes map: an anonymous file (memfd), sealed so that nobody can shrink it under another's
/// feet, and this process's mapping of it. Pages exist once they are written. A mapping in which a huge page
/// has room begins at the boundary of one (pages.h), if there is address space.
class SharedMapping {
 public:
  SharedMapping() = default;
  /// Makes the memory. Throws Error (kTransport).
  static SharedMapping create(const char* name, std::size_t bytes);
  /// Maps memory that another process made. Throws Error (kTransport) if it is not sealed or not `bytes` long.
  static SharedMapping attach(FileDescriptor file, std::size_t bytes);

  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Of memory that this process made; -1 of another's.
  int file() const { return file_.get(); }

 private:
  SharedMapping(FileDescriptor file, std::size_t bytes);

  FileDescriptor file_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace lockstep::shm
