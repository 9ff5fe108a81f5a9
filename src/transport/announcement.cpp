#include "transport/announcement.h"

#include "base/collective.h"
#include "base/digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep {

std::uint32_t digest_of_blocks(std::span<const std::size_t> block_counts) {
  if (block_counts.empty()) return 0;
  const auto digest = static_cast<std::uint32_t>(digest_of(fmt::format("{}", fmt::join(block_counts, ","))));
  return digest == 0 ? 1 : digest;
}

std::uint64_t fingerprint_of(const Announcement& announcement) {
  return digest_of(fmt::format("{} {}", announcement.root, announcement.describe()));
}

std::string Announcement::describe() const {
  if (collective == Collective::kBarrier) return fmt::format("barrier ({})", algorithm_name());
  return fmt::format("{}{} of {} {}{}{} ({}{}{})", splits ? "split, by an " : "", to_string(collective), count,
                     to_string(dtype), blocks != 0 ? fmt::format(" in unequal blocks #{:08x}", blocks) : "",
                     has_root(collective) ? fmt::format(" at root {}", root) : "",
                     sums_values(collective) ? fmt::format("{}, ", to_string(op)) : "", algorithm_name(),
                     in_place ? ", registered memory" : "");
}

}  // namespace lockstep
