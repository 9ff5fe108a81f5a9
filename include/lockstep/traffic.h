#pragma once

#include <lockstep/group.h>

#include <cstdint>

namespace lockstep {

/// Bytes that this rank has put on a network for this group since the group was made: what its operations and messages
/// carried, and what ranks tell each other to agree on them (some 100 bytes an operation and peer), without the
/// network's own headers. 0 where ranks share memory, since peers read it where it lies. Groups made by split count
/// for themselves. Local.
std::uint64_t bytes_sent(const Group& group);

}  // namespace lockstep
