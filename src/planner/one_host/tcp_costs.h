#pragma once

#include "planner/one_host/cost_vector.h"

#include <array>
#include <cstddef>

namespace lockstep {

/// What takes time where the ranks of one host talk over TCP. Contended is what a core does while others are busy too:
/// they take the same locks, share what caches and memory can move, and may be two threads of one core.
struct TcpCost {
  /// A byte costs the more the less the caches hold of what a core has in its hands: its ranks' buffers and what they
  /// receive and do not keep. By that, between these sizes by interpolation over their logarithm.
  static constexpr std::array<double, 4> kSizes{1 << 12, 1 << 18, 1 << 22, 1 << 26};

  enum Cost : std::size_t {
    kOperation,
    kMessage,                                ///< a call that sends something, and one that receives it: half each
    kContendedMessage,                       ///< again, of a call that sends
    kVain,                                   ///< a call that finds nothing
    kSwitch,                                 ///< a core goes on to another of its ranks
    kCrossing,                               ///< a core whose ranks all wait hears from another one
    kByte,                                   ///< sent and received, of buffers of the first size; then of the others
    kContendedByte = kByte + kSizes.size(),  ///< again, of buffers of the first two sizes, which caches hold
    kReducedByte,
    kColdByte,           ///< again, of buffers of the last size: sent as it was at the start, or received to stay
    kContendedColdByte,  ///< again, of buffers of the last size
    kCount
  };
};

/// How much of each an operation does, or the seconds that one of each takes.
using TcpCosts = CostVector<TcpCost>;

}  // namespace lockstep
