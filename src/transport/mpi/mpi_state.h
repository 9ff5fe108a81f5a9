#pragma once

#include "transport/mpi/calls.h"

#include <mpi.h>
#include <sys/types.h>

#include <mutex>
#include <string>
#include <vector>

/// What the sources of liblockstep-mpi.so share; they alone include mpi.h.
namespace lockstep::mpi {

/// Of this process, as MPI is.
struct State {
  std::mutex mutex;
  MPI_Comm communicator = MPI_COMM_NULL;  ///< all ranks
  std::vector<MPI_Comm> groups;           ///< those made by make_communicator
  int open = 0;
  pid_t process = 0;  ///< that MPI was started in, or found; a forked child has no MPI
};
State& state();

/// Keeps the text until this thread's next, whoever holds the mutex by then.
const char* say(const std::string& fault);
/// Null for MPI_SUCCESS, else what MPI says of it.
const char* said(int code);

MPI_Request load(const Request& request);
void store(Request& request, MPI_Request value);

// Calls' functions for collectives.
const char* make_communicator(int* communicator, const int* ranks, int size, int tag);
const char* begin(Request* request, int communicator, const WholeCollective* what);

}  // namespace lockstep::mpi
