#pragma once

#include <lockstep/group.h>

#include <functional>

namespace lockstep {

namespace detail {
class WorldMaker;
}

/// All ranks of the job.
///
/// `from_env` understands the variables of `lockstep run` and torchrun (RANK, WORLD_SIZE, LOCAL_RANK,
/// LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT), of mpirun (OMPI_*, PMI_*) and of srun (SLURM_*, of the step that it
/// started, not of the whole allocation); with none of them it is a world of one. It blocks until every rank has
/// joined, at most LOCKSTEP_JOIN_TIMEOUT (default 60 s), and throws an Error that names the missing ranks.
/// LOCKSTEP_TRANSPORT says what moves the bytes: "shm" (shared memory, between ranks of one host), "tcp"
/// (docs/design/tcp.md says where ranks meet and who may join: without a secret, which `lockstep run` makes and
/// LOCKSTEP_SECRET_FILE names otherwise, any user of this machine who guesses the job's name), "mpi" (between what
/// mpirun started; docs/design/mpi.md says what it cannot), or "auto": shared memory where all ranks are on one host,
/// else MPI where mpirun started them, else TCP, and of these the first that works on this machine, as `lockstep info`
/// says. What is asked for by name and does not work there is kUnsupported. LOCKSTEP_HOST names the host that this rank
/// counts to, where that is not its machine (Group::hosts). When the last copy goes, this rank leaves: a peer that
/// still waits for it gets an Error.
class World : public Group {
 public:
  /// The job's world, as said above. Collective and blocking. Throws Error: kInvalidArgument naming a variable that is
  /// missing or makes no sense, kTimeout naming the ranks that did not come; kUnsupported, kMismatch, kPeerDied,
  /// kPeerLeft, kTransport, kOutOfMemory.
  static World from_env();
  /// A world of one, whatever the environment says. Local.
  static World alone();

  /// This rank's number among those that the launcher started on its host, from 0 to local_size() - 1. Local, and
  /// throws nothing.
  int local_rank() const;
  /// Ranks that the launcher started on this host, at least 1. Local, and throws nothing.
  int local_size() const;

 private:
  using Group::Group;
  friend class detail::WorldMaker;
};

/// Makes a world of `n` threads in this process, calls `f` in each with its own World, and returns when all have. If
/// some throw, throws what the first to fail threw; Error: kInvalidArgument for n < 1, kTransport where the system
/// starts no more threads. For tests, in-process replicas.
void run_threads(int n, const std::function<void(World&)>& f);

}  // namespace lockstep
