#include "runtime/disagreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <map>
#include <string>
#include <vector>

namespace lockstep {

void throw_disagreement(const Transport& transport, std::uint64_t sequence) {
  std::map<std::string, std::vector<int>> asked;
  for (int peer = 0; peer < transport.size(); ++peer) {
    const auto announced = transport.announcement_of(peer, sequence);
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

}  // namespace lockstep
