#pragma once

#include "kernels/copy.h"

namespace lockstep::kernels {

/// One pass of the most memory traffic that a core gets here: reads `bytes` of `source`, writes as many past the caches
/// to `target`, and returns both together. On arrays much larger than the caches, passes of one pinned thread a core,
/// timed together, give the machine's limit that collectives are held against (McCalpin's STREAM, "Copy", with
/// non-temporal stores). The arrays do not overlap.
inline std::size_t stream_pass(void* target, const void* source, std::size_t bytes) {
  copy(target, source, bytes, true);
  return 2 * bytes;
}

}  // namespace lockstep::kernels
