#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace lockstep::bench {

/// Memory of the program's own, page-aligned, that goes back to the system with its last owner: the launcher has the
/// allocator keep what is freed.
using PlainMemory = std::shared_ptr<void>;

/// Throws Error (kOutOfMemory) that ends with what to do.
PlainMemory allocate_plain(std::size_t bytes, std::string_view remedy = "try a smaller --max-bytes");

/// How fast memory is read and written when every core copies at once: what a reduction of large buffers is held
/// against.
class CopyProbe {
 public:
  /// Buffers that no cache holds.
  explicit CopyProbe(std::size_t cache_bytes);
  /// Copies once, in this thread.
  void run();
  /// What one copy moves: each byte is read once and written once.
  double traffic_bytes() const { return 2.0 * static_cast<double>(bytes_); }

 private:
  std::size_t bytes_;
  PlainMemory from_;
  PlainMemory to_;
};

}  // namespace lockstep::bench
