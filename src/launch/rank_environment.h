#pragma once

#include "base/file_descriptor.h"
#include "base/held_port.h"
#include "topology/cpus.h"

#include <string>
#include <vector>

namespace lockstep {

/// What the ranks of a job have in common.
struct Job {
  std::string id;  ///< 128 random bits in hexadecimal: which ranks belong together. Not a secret: uids are checked.
  int port = 0;    ///< free on 127.0.0.1 when the job started
  int ranks = 1;
  int cpus = 1;                    ///< of this host, which the ranks may use together
  int threads = 1;                 ///< for the BLAS and OpenMP of each rank
  std::string openblas_core_type;  ///< what OpenBLAS is to take the cores for; empty: what it takes by itself
  HeldPort meeting_port;           ///< where ranks meet that talk over TCP
  FileDescriptor secret;           ///< what they prove to each other that they know; inherited by what is started
};

/// A job of `ranks` processes that share `cpus`. Throws Error (kTransport) if the system refuses randomness, a port,
/// or a process.
Job make_job(int ranks, const CpuCount& cpus);

/// `inherited` ("NAME=value") with the variables of this rank: torchrun's, the job's identity, and, unless they are set
/// already, the numbers of threads (where OMP_NUM_THREADS is set, the BLAS libraries' follow it), how they wait, and
/// how the allocator treats large blocks.
std::vector<std::string> rank_environment(const Job& job, int rank, const std::vector<std::string>& inherited);

/// The environment of this process.
std::vector<std::string> current_environment();

}  // namespace lockstep
