#pragma once

#include "transport/mpi/process.h"
#include "transport/vendor.h"

#include <memory>
#include <vector>

namespace lockstep::mpi {

/// MPI's own collectives among a group's ranks, over a communicator that stays until MPI ends.
class Collectives final : public Vendor {
 public:
  /// `rank` in the group; no message is under way with that tag. Every rank of the group makes it, and waits for all.
  Collectives(const Process& process, int rank, const std::vector<int>& world_ranks, int tag);

  std::unique_ptr<VendorCollective> prepare(const VendorTask& task) override;

  const Process& process() const { return process_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int communicator() const { return communicator_; }

 private:
  const Process& process_;
  int rank_;
  int size_;
  int communicator_;
};

}  // namespace lockstep::mpi
