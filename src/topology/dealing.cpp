#include "topology/dealing.h"

#include "base/index.h"

namespace lockstep {

GroupCores cores_of_group(const std::vector<RankHere>& group, int cores) {
  if (group.empty() || group.front().ranks <= cores) return cores;
  const int ranks = group.front().ranks;
  std::vector<int> members(at(cores));  // of the group, on each core
  for (const RankHere& one : group) ++members[at(share_of(one.rank, ranks, cores))];
  int used = 0;
  bool shared = false;
  for (int core = 0; core < cores; ++core) {
    const int here = members[at(core)];
    if (here == 0) continue;
    ++used;
    shared = shared || here < first_on(core + 1, ranks, cores) - first_on(core, ranks, cores);
  }
  return {used, shared};
}

}  // namespace lockstep
