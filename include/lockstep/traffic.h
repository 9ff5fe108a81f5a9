#pragma once

#include <lockstep/group.h>

#include <cstdint>

namespace lockstep {

/// Bytes that this rank has put on a network for this group since the group was made: what its operations and messages
/// carried, and what ranks tell each other to agree on them (some 100 bytes an operation and peer), without the
/// network's own headers. 0 where ranks share memory, since peers read it where it lies. Groups made by split count
/// for themselves. Local.
std::uint64_t bytes_sent(const Group& group);

/// Whether this group's operations move through memory that its ranks share, all on one host, and not over a network.
/// Local.
bool shares_memory(const Group& group);

/// What this rank's operations on this group come to that were asked for since the group was made, as their
/// OperationRecords say it: of a while, the difference. Nothing is said of messages. Local.
struct OperationTotals {
  std::uint64_t operations = 0;
  std::uint64_t steps = 0;
  std::uint64_t wire_bytes = 0;
};
OperationTotals operations_asked(const Group& group);

}  // namespace lockstep
