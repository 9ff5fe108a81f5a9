#include "transport/announcement.h"

#include "base/collective.h"
#include "base/digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace lockstep {

std::uint32_t digest_of_blocks(std::span<const std::size_t> block_counts) {
  if (block_counts.empty()) return 0;
  const auto digest = static_cast<std::uint32_t>(digest_of(fmt::format("{}", fmt::join(block_counts, ","))));
  return digest == 0 ? 1 : digest;
}

std::uint64_t fingerprint_of(const Announcement& announcement) {
  return digest_of(fmt::format("{} {}", announcement.root, announcement.describe()));
}

std::optional<std::uint64_t> disagreed_before(const Announcement& one, const Announcement& other) {
  for (std::uint64_t back = kAnnouncementsKept - 1; back > 0; --back) {
    const std::uint64_t shift = 8 * (back - 1);
    if (back < one.sequence && ((one.recent ^ other.recent) >> shift & 0xffU) != 0) return one.sequence - back;
  }
  return std::nullopt;
}

void Announcement::name_algorithm(std::string_view name) {
  const std::size_t room = algorithm.size() - 1;
  const std::string end = name.size() > room ? fmt::format("~{:08x}", digest_of(name) & 0xffffffffU) : "";
  algorithm = {};
  std::copy_n(name.begin(), std::min(name.size(), room - end.size()), algorithm.begin());
  std::copy(end.begin(), end.end(), algorithm.end() - 1 - static_cast<std::ptrdiff_t>(end.size()));
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
