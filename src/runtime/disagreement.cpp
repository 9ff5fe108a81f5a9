#include "runtime/disagreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

namespace {

/// Ranks by what they asked for.
using Asked = std::map<std::string, std::vector<int>>;

/// As far as it is known.
Asked asked_for(const Transport& transport, std::uint64_t sequence) {
  Asked asked;
  for (int peer = 0; peer < transport.size(); ++peer) {
    if (const auto announced = transport.announcement_of(peer, sequence)) asked[announced->describe()].push_back(peer);
  }
  return asked;
}

void add_absent(const Transport& transport, std::uint64_t sequence, Asked& asked) {
  for (int peer = 0; peer < transport.size(); ++peer) {
    if (!transport.announcement_of(peer, sequence)) asked["not there yet"].push_back(peer);
  }
}

std::string in_words(const Asked& asked) {
  std::string who;
  for (const auto& [what, ranks] : asked) {
    who += fmt::format("{}rank{} {}: {}", who.empty() ? "" : "; ", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "),
                       what);
  }
  return who;
}

}  // namespace

void throw_disagreement(const Transport& transport, std::uint64_t sequence) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kMismatch, what, {.rank = transport.rank()});
  };
  for (std::uint64_t back = std::min(sequence, kAnnouncementsKept) - 1; back > 0; --back) {
    const Asked asked = asked_for(transport, sequence - back);
    if (asked.size() > 1) {
      refuse(fmt::format("the ranks disagree about what #{} before it was ({})", sequence - back, in_words(asked)));
    }
  }
  Asked asked = asked_for(transport, sequence);
  const bool agree = asked.size() == 1 && asked.begin()->second.size() > 1;
  if (agree) refuse(fmt::format(kDisagreedBefore, in_words(asked)));
  add_absent(transport, sequence, asked);
  throw Error(ErrorCode::kMismatch, fmt::format("the ranks disagree about what it is ({})", in_words(asked)),
              {.rank = transport.rank()});
}

}  // namespace lockstep
