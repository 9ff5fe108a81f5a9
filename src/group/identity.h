#pragma once

#include "topology/dealing.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// Which rank of which job this process is, as its launcher says.
struct Identity {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  std::string local_size_from;   ///< why local_size is what it is: "LOCAL_WORLD_SIZE is 4", or is not set
  bool by_mpi = false;           ///< the launcher is an MPI's
  std::string job;               ///< the same on all ranks and of no other job; empty for a world of one
  std::vector<int> hosts;        ///< of each rank, numbered from 0 as they first appear; empty: all on one
  std::vector<int> cores;        ///< that each rank may use, as it says; empty: all as many as this one
  std::vector<RankHere> here;    ///< which of its host's ranks each is, of a part of a world; empty for the whole
  std::vector<int> world_ranks;  ///< of the ranks of a group that is a part of a world; empty for the whole

  int world_rank(int of) const { return world_ranks.empty() ? of : world_ranks[static_cast<std::size_t>(of)]; }
};

/// What is told of a group that is not the whole world: "the group of the world's ranks 1, 3"; else nothing.
std::string name_of_group(const Identity& identity);
/// The same behind a rank: " of the group of the world's ranks 1, 3".
std::string of_which_group(const Identity& identity);

/// Looks a variable up: none if unset or empty.
using Lookup = std::function<std::optional<std::string>(const char* name)>;

/// Reads the variables of `lockstep run` and torchrun, else of Open MPI's mpirun, else of MPICH's, else of srun, if it
/// started a step; with none of them a world of one. `parent` (a process id) tells jobs apart where a launcher gives
/// them no name. Throws Error (kInvalidArgument) that names the variable: missing, not a number, or out of range.
Identity identify(const Lookup& lookup, int parent);
Identity identify_from_environment();

}  // namespace lockstep
