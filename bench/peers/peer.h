#pragma once

#include "bench/rounds.h"

#include <cstddef>
#include <memory>

namespace lockstep::compare {

/// What a peer program gives: its library's all_reduce, in place, as float32 sums, and the memory it works on.
struct Peer {
  int rank;
  int ranks;
  bench::Subject& subject;
  /// Memory of that size; `plain` tells apart the two kinds where the library has two.
  std::shared_ptr<void> (*allocate)(std::size_t bytes, bool plain);
};

/// Does what the conductor says through the socket named by LOCKSTEP_COMPARE_SOCKET, until it says "end" or hangs up.
/// While nothing is asked this process sleeps, so that peers do not disturb each other. Returns the exit code.
///
///   measure BYTES COLD PLAIN ITERATIONS BATCH   answered by: WRONG SECONDS...
///   copy COPIES                                 answered by: 0 SECONDS...   a streaming copy on each rank at once
int serve(const Peer& peer);

}  // namespace lockstep::compare
