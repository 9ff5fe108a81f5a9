#pragma once

#include "topology/cpu_quota.h"

#include <cstddef>

namespace lockstep::tcp {

/// Whether so many ranks of this machine have fewer cores than they are, so that they work in turns.
bool take_turns(int ranks_here, int cores = job_cpus());

/// As MessageTransport::piece_bytes, of ranks that all talk over loopback: what one of them has summed or received is
/// still in a cache when it sends it on. Ranks with cores of their own take the whole buffer, of which more is then on
/// its way while they do something else (docs/design/tcp_speed.md).
std::size_t piece_bytes_over_loopback(int ranks, int cores = job_cpus());

}  // namespace lockstep::tcp
