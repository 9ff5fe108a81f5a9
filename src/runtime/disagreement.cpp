#include "runtime/disagreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <map>
#include <string>
#include <vector>

namespace lockstep {

void throw_disagreement(const Transport& transport, const Announcement& own) {
  std::map<std::string, std::vector<int>> asked;
  for (int peer = 0; peer < transport.size(); ++peer) {
    const auto announced = transport.announcement_of(peer, own.sequence);
    asked[announced ? announced->describe() : "not there yet"].push_back(peer);
  }
  std::string who;
  for (const auto& [what, ranks] : asked) {
    who += fmt::format("{}rank{} {}: {}", who.empty() ? "" : "; ", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "),
                       what);
  }
  throw Error(ErrorCode::kMismatch, fmt::format("the ranks disagree about what it is ({})", who),
              {.rank = transport.rank()});
}

void throw_late(const Transport& transport, const Announcement& own, std::chrono::milliseconds timeout, int peer) {
  std::vector<int> absent;
  for (int other = 0; other < transport.size(); ++other) {
    if (transport.progress_of(other).sequence < own.sequence) absent.push_back(other);
  }
  const double seconds = static_cast<double>(timeout.count()) / 1000;
  const std::string where = absent.empty() ? "which entered it and went no further" : "which did not come to it";
  if (absent.empty()) absent.push_back(peer);
  throw Error(ErrorCode::kTimeout,
              fmt::format("rank {} waited {} s for rank{} {}, {}", transport.rank(), seconds,
                          absent.size() == 1 ? "" : "s", fmt::join(absent, ", "), where),
              {.rank = transport.rank(), .peer = absent.front()});
}

}  // namespace lockstep
