#include "transport/announcement.h"

#include <fmt/format.h>

namespace lockstep {

bool Announcement::agrees_with(const Announcement& other) const {
  return sequence == other.sequence && count == other.count && root == other.root && collective == other.collective &&
         dtype == other.dtype && op == other.op && algorithm == other.algorithm;
}

std::string Announcement::describe() const {
  switch (collective) {
    case Collective::kBarrier: return fmt::format("barrier ({})", algorithm_name());
    case Collective::kBroadcast:
    case Collective::kScatter:
      return fmt::format("{} of {} {} from rank {} ({})", to_string(collective), count, to_string(dtype), root,
                         algorithm_name());
    case Collective::kGather:
      return fmt::format("gather of {} {} to rank {} ({})", count, to_string(dtype), root, algorithm_name());
    case Collective::kReduce:
      return fmt::format("reduce of {} {} to rank {} ({}, {})", count, to_string(dtype), root, to_string(op),
                         algorithm_name());
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return fmt::format("{} of {} {} ({})", to_string(collective), count, to_string(dtype), algorithm_name());
    case Collective::kAllReduce:
    case Collective::kReduceScatter: break;
  }
  return fmt::format("{} of {} {} ({}, {})", to_string(collective), count, to_string(dtype), to_string(op),
                     algorithm_name());
}

}  // namespace lockstep
