#include "transport/announcement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>

namespace lockstep {

std::uint32_t digest_of(std::span<const std::size_t> block_counts) {
  if (block_counts.empty()) return 0;
  const auto hash =
      static_cast<std::uint32_t>(std::hash<std::string>{}(fmt::format("{}", fmt::join(block_counts, ","))));
  return hash == 0 ? 1 : hash;
}

std::uint64_t fingerprint_of(const Announcement& announcement) {
  return std::hash<std::string>{}(fmt::format("{} {}", announcement.root, announcement.describe()));
}

std::string Announcement::describe() const {
  if (collective == Collective::kBarrier) return fmt::format("barrier ({})", algorithm_name());
  const bool is_reduction = collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
                            collective == Collective::kReduce;
  const bool has_root = collective == Collective::kBroadcast || collective == Collective::kReduce ||
                        collective == Collective::kGather || collective == Collective::kScatter;
  return fmt::format("{} of {} {}{}{} ({}{}{})", to_string(collective), count, to_string(dtype),
                     blocks != 0 ? fmt::format(" in unequal blocks #{:08x}", blocks) : "",
                     has_root ? fmt::format(" at root {}", root) : "",
                     is_reduction ? fmt::format("{}, ", to_string(op)) : "", algorithm_name(),
                     in_place ? ", registered memory" : "");
}

}  // namespace lockstep
