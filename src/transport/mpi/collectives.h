#pragma once

#include "transport/mpi/process.h"
#include "transport/vendor.h"

#include <memory>
#include <optional>
#include <vector>

namespace lockstep::mpi {

/// MPI's own collectives among a group's ranks, over a communicator that is made for the first of them, and stays until
/// MPI ends: MPI_Comm_free is a call of all ranks, who leave a group one by one.
class Collectives final : public Vendor {
 public:
  /// `rank` in the group; no message is ever under way with that tag.
  Collectives(const Process& process, int rank, std::vector<int> world_ranks, int tag);

  std::unique_ptr<VendorCollective> prepare(const VendorTask& task) override;

  const Process& process() const { return process_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(world_ranks_.size()); }
  /// Of all ranks, who have met: making it waits for all, without a deadline.
  int communicator();

 private:
  const Process& process_;
  int rank_;
  std::vector<int> world_ranks_;
  int tag_;
  std::optional<int> communicator_;
};

}  // namespace lockstep::mpi
