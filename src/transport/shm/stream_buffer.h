#pragma once

#include "transport/shm/pages.h"

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::shm {

/// A stream of bytes from one rank to another: a circular buffer in zero-filled memory that both map, of whole pages.
/// One thread writes, one reads.
class alignas(kPage) StreamBuffer {
 public:
  /// What writer and reader pass to each other at most before the other comes: it fits into a core's cache.
  static constexpr std::size_t kBytes = std::size_t{128} << 10;

  /// How many bytes of the spans went in, in their order, and came out.
  std::size_t write(std::span<const iovec> spans);
  std::size_t read(std::span<const iovec> spans);

  bool has_room() const { return free_bytes() > 0; }
  bool has_bytes() const { return filled_bytes() > 0; }

 private:
  std::size_t filled_bytes() const;
  std::size_t free_bytes() const { return kBytes - filled_bytes(); }

  alignas(64) std::atomic<std::uint64_t> written_{0};  ///< since the beginning
  alignas(64) std::atomic<std::uint64_t> read_{0};     ///< likewise
  alignas(64) std::byte data_[kBytes];
};

}  // namespace lockstep::shm
