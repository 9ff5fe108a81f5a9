#include "topology/cpus.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {

std::vector<CpuSet> deal_cpus(int ranks) {
  const std::vector<CpuSet> shares = distribute_cpus(std::min(ranks, available_cpus().threads));
  std::vector<CpuSet> dealt(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; !shares.empty() && rank < dealt.size(); ++rank) dealt[rank] = shares[rank % shares.size()];
  return dealt;
}

}  // namespace lockstep
