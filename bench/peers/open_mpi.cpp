// MPI_Allreduce for bench/compare.
#include "bench/memory.h"
#include "bench/peers/peer.h"

#include <mpi.h>

#include <memory>

namespace {

class AllReduce final : public lockstep::bench::Subject {
 public:
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void run(const lockstep::Buffer& buffer) override {
    MPI_Allreduce(MPI_IN_PLACE, buffer.data, static_cast<int>(buffer.count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
};

std::shared_ptr<void> allocate(std::size_t bytes, bool) { return lockstep::bench::allocate_plain(bytes); }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  AllReduce subject;
  const int code = lockstep::compare::serve({rank, ranks, subject, allocate});
  MPI_Finalize();
  return code;
}
