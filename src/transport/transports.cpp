#include "transport/transports.h"

#include "transport/mpi/here.h"
#include "transport/shm/here.h"
#include "transport/tcp/here.h"

namespace lockstep {

const std::array<NamedTransport, 3>& named_transports() {
  static constexpr std::array<NamedTransport, 3> kTransports{
      {{TransportKind::kSharedMemory, "shm", "the ranks of a host", shm::why_not_here},
       {TransportKind::kTcp, "tcp", "ranks on any hosts", [](int) { return tcp::why_not_here(); }},
       {TransportKind::kMpi, "mpi", "ranks that mpirun started", [](int) { return mpi::why_not_here(); }}}};
  return kTransports;
}

}  // namespace lockstep
