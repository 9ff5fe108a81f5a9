#include "schedule/promise.h"

namespace lockstep {

int blocks_of(Collective collective, int ranks) {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kScatter: return ranks;
    case Collective::kAllToAll: return ranks * ranks;
    case Collective::kAllReduce:
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kBarrier: break;
  }
  return 1;
}

bool contributes(const Schedule& schedule, int rank, int chunk) {
  switch (schedule.collective) {
    case Collective::kBroadcast:
    case Collective::kScatter: return rank == schedule.root;
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kAllToAll: return rank == owner_of(schedule, chunk);
    case Collective::kAllReduce:
    case Collective::kReduceScatter:
    case Collective::kReduce:
    case Collective::kBarrier: break;
  }
  return true;
}

bool must_end_with(const Schedule& schedule, int rank, int chunk) {
  switch (schedule.collective) {
    case Collective::kReduceScatter:
    case Collective::kScatter: return rank == owner_of(schedule, chunk);
    case Collective::kReduce:
    case Collective::kGather: return rank == schedule.root;
    case Collective::kAllToAll: return rank == destination_of(schedule, chunk);
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kBroadcast:
    case Collective::kBarrier: break;
  }
  return true;
}

}  // namespace lockstep
