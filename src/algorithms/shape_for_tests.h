#pragma once

#include "algorithms/catalog.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

/// What the tests of the algorithms ask of a schedule: how many steps, how much each rank sends, who talks to whom.
namespace lockstep::shape {

inline Schedule build(std::string_view name, int ranks, Collective collective = Collective::kAllReduce, int root = 0) {
  return find_algorithm(name).build({.collective = collective, .ranks = ranks, .root = root});
}

inline std::size_t ceil_log2(int value) {
  std::size_t bits = 0;
  while ((1 << bits) < value) ++bits;
  return bits;
}

/// Chunks that each rank sends.
inline std::vector<int> sent(const Schedule& schedule) {
  std::vector<int> chunks(static_cast<std::size_t>(schedule.ranks));
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) ++chunks[static_cast<std::size_t>(transfer.from)];
  }
  return chunks;
}

/// Chunks that move in all.
inline int total(const Schedule& schedule) {
  int chunks = 0;
  for (const int of_rank : sent(schedule)) chunks += of_rank;
  return chunks;
}

/// The most ranks that one rank sends to, and is sent to by, in one step.
inline int most_peers_in_a_step(const Schedule& schedule) {
  std::size_t most = 0;
  for (const Step& step : schedule.steps) {
    std::vector<std::set<int>> to(static_cast<std::size_t>(schedule.ranks));
    std::vector<std::set<int>> from(static_cast<std::size_t>(schedule.ranks));
    for (const Transfer& transfer : step) {
      to[static_cast<std::size_t>(transfer.from)].insert(transfer.to);
      from[static_cast<std::size_t>(transfer.to)].insert(transfer.from);
    }
    for (const auto& peers : to) most = std::max(most, peers.size());
    for (const auto& peers : from) most = std::max(most, peers.size());
  }
  return static_cast<int>(most);
}

}  // namespace lockstep::shape
