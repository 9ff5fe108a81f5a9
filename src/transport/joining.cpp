#include "transport/joining.h"

#include "base/refuse.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>

namespace lockstep {

namespace {

/// Where any number of files may be open.
constexpr int kMostJoined = 1 << 20;

/// How many from `first` on are one more than the one before.
std::size_t run_length(const std::vector<int>& ranks, std::size_t first) {
  std::size_t end = first + 1;
  while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
  return end - first;
}

}  // namespace

std::string ranks_in_words(const std::vector<int>& ranks) {
  constexpr int kMostParts = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  int parts = 0;
  for (std::size_t at = 0; at < ranks.size(); ++parts) {
    if (parts == kMostParts) return text + fmt::format(" and {} more", ranks.size() - at);
    const std::size_t length = run_length(ranks, at);
    const bool is_range = length > 2;
    text += fmt::format("{}{}", parts == 0 ? "" : ", ", ranks[at]);
    if (is_range) text += fmt::format(" to {}", ranks[at + length - 1]);
    at += is_range ? length : 1;
  }
  return text;
}

void require_room_for(int ranks, const OpenFiles& files) {
  if (ranks > kMostJoined) {
    refuse(
        fmt::format("Rank {} is to join {} ranks, and at most {} join each other; is that the number that the launcher "
                    "was to start?",
                    files.rank, ranks, kMostJoined));
  }
  constexpr int kFew = 64;  // who runs out of files among so few has them open elsewhere, and hears it from the system
  if (ranks <= kFew) return;
  rlimit limit{};
  const auto needed = static_cast<rlim_t>(files.a_peer) * static_cast<rlim_t>(ranks - 1);
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  refuse(
      fmt::format("Rank {} needs more than {} open files to join {} ranks and may have {}; start fewer, or raise it "
                  "(ulimit -n).",
                  files.rank, needed, ranks, limit.rlim_cur));
}

}  // namespace lockstep
