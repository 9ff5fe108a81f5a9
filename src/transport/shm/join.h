#pragma once

#include "transport/meeting.h"
#include "transport/shm/shm_transport.h"

#include <chrono>
#include <string>

namespace lockstep::shm {

/// Which rank of which job this process is.
struct JoinRequest {
  std::string job;  ///< the same on all ranks, and of no other job of this user on this host
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{60'000};
  Company company{};
};

/// Finds the other processes of the job on this host and shares memory with them. Every rank calls it. Rank 0 listens
/// on an abstract Unix socket named after the user and the job; the others connect, say who they are (checked: same
/// user, same boot of the same kernel, same world size, each rank once) and hand over their memory; rank 0 hands
/// everybody everybody's. The socket is gone when this returns.
///
/// Throws Error: kTimeout naming the ranks that did not come, kPeerDied naming one that ended meanwhile, kMismatch if
/// ranks disagree about the world or run different versions, kUnsupported for one of another machine, kInvalidArgument
/// for more ranks than this process can hold, kTransport; what a look at the company throws.
Host join_processes(const JoinRequest& request);

}  // namespace lockstep::shm
