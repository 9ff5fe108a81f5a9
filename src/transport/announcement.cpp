#include "transport/announcement.h"

#include <fmt/format.h>

#include <functional>

namespace lockstep {

std::uint64_t fingerprint_of(const Announcement& announcement) {
  return std::hash<std::string>{}(fmt::format("{} {}", announcement.root, announcement.describe()));
}

std::string Announcement::describe() const {
  if (collective == Collective::kBarrier) return fmt::format("barrier ({})", algorithm_name());
  const bool is_reduction = collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
                            collective == Collective::kReduce;
  const bool has_root = collective == Collective::kBroadcast || collective == Collective::kReduce ||
                        collective == Collective::kGather || collective == Collective::kScatter;
  return fmt::format("{} of {} {}{} ({}{}{})", to_string(collective), count, to_string(dtype),
                     has_root ? fmt::format(" at root {}", root) : "",
                     is_reduction ? fmt::format("{}, ", to_string(op)) : "", algorithm_name(),
                     in_place ? ", registered memory" : "");
}

}  // namespace lockstep
