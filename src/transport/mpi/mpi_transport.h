#pragma once

#include "transport/message_transport.h"

#include <chrono>
#include <memory>

namespace lockstep::mpi {

/// The transport of all ranks of MPI_COMM_WORLD, which this process must have been started as: as `rank` of `size`.
/// Starts MPI unless somebody has. Every rank calls it. Throws Error: kUnsupported where MPI is not to be had,
/// kMismatch if MPI knows another rank or size, kTimeout naming the ranks that did not come, kTransport with what MPI
/// says.
std::unique_ptr<MessageTransport> create(int rank, int size, std::chrono::milliseconds timeout);

}  // namespace lockstep::mpi
