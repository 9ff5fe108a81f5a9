#include "topology/cpus.h"

#include "topology/dealing.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {

std::vector<CpuSet> deal_cpus(int ranks) {
  const std::vector<CpuSet> shares = distribute_cpus(std::min(ranks, available_cpus().threads));
  std::vector<CpuSet> dealt(static_cast<std::size_t>(ranks));
  for (int rank = 0; !shares.empty() && rank < ranks; ++rank) {
    const int share = share_of(rank, ranks, static_cast<int>(shares.size()));
    dealt[static_cast<std::size_t>(rank)] = shares[static_cast<std::size_t>(share)];
  }
  return dealt;
}

}  // namespace lockstep
