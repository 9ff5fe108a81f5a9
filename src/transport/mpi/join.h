#pragma once

#include "transport/meeting.h"
#include "transport/mpi/process.h"

#include <chrono>
#include <string>
#include <vector>

namespace lockstep::mpi {

/// Where a group meets: at its first rank.
struct Place {
  int leader = 0;  ///< in MPI_COMM_WORLD
  int tag = 0;     ///< the first of the group's; 0 where the leader is yet to choose

  std::string to_bytes() const;
  static Place from_bytes(const std::string& bytes);
};

struct Joined {
  std::vector<int> world_ranks;  ///< of the group's ranks
  int tag = 0;                   ///< the first of its own
};

/// Finds the other ranks of a group: every one of them calls it, as the meeting's rank. Throws Error: kTimeout naming
/// the ranks that did not come, kTransport; what a look at the company throws.
Joined join(const Process& process, const Place& place, const Meeting& meeting);

}  // namespace lockstep::mpi
