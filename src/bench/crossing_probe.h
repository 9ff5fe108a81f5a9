#pragma once

#include <atomic>
#include <cstdint>

namespace lockstep::bench {

/// How far the cores of two threads are from each other: a cache line goes to and fro between them. On a shared host
/// that changes within minutes, as virtual cores come to share a cache or to share none (docs/design/tcp_speed.md), and
/// with it what everything takes that crosses.
class CrossingProbe {
 public:
  /// Called by both threads, one as the first; takes some tenths of a millisecond. The seconds of a way to and fro, the
  /// least of several tries, on the first; 0 on the other.
  double measure(bool is_first);

 private:
  void await(std::uint32_t value) const;

  alignas(64) std::atomic<std::uint32_t> line_{0};  ///< odd on its way to the other, even on its way back
};

}  // namespace lockstep::bench
