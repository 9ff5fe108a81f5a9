#pragma once

#include <atomic>
#include <chrono>

namespace lockstep::shm {

/// A full memory fence between two ranks of which one pays for both. Who often stores and then loads puts `light_fence`
/// in between; who seldom does stores, with sequential consistency, and looks for the other's store until kSettling is
/// over, and once more. Then at least one of the two has seen what the other stored: a core may have loaded while its
/// store was still in its buffer, but not for as long as that (Morrison and Afek, Temporally Bounding TSO for
/// Fence-Free Asymmetric Synchronization, ASPLOS 2015). No processor promises how long; were it ever longer, a rank
/// would sleep for its slice without need. On x86 the light fence holds the compiler alone; elsewhere it is a full one.
inline void light_fence() {
#if defined(__x86_64__)
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// A core's buffer has room for a hundred stores or so, whose lines may come from another core's cache, some 0.4 us
/// each, one after the other.
inline constexpr std::chrono::microseconds kSettling{50};

}  // namespace lockstep::shm
