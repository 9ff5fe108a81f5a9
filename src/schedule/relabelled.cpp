#include "schedule/relabelled.h"

#include "base/index.h"
#include "schedule/promise.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace lockstep {

namespace {

bool names_each_rank_once(const std::vector<int>& order, int ranks) {
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> all(at(ranks));
  std::iota(all.begin(), all.end(), 0);
  return sorted == all;
}

/// The block that takes a block's place when its ranks are renamed.
int moved_block(const Schedule& schedule, const std::vector<int>& order, int block) {
  const int ranks = schedule.ranks;
  const int blocks = blocks_of(schedule.collective, ranks);
  if (blocks == 1) return block;
  if (blocks == ranks) return order[at(block)];
  return order[at(block / ranks)] * ranks + order[at(block % ranks)];
}

}  // namespace

Schedule relabelled(const Schedule& schedule, const std::vector<int>& order) {
  if (!names_each_rank_once(order, schedule.ranks)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("The schedule '{}' cannot be relabelled: the order does not name each of its {} ranks once.",
                    schedule.name, schedule.ranks));
  }
  Schedule renamed = schedule;
  if (has_root(schedule.collective)) renamed.root = order[at(schedule.root)];
  const int chunks_a_block = schedule.chunks / blocks_of(schedule.collective, schedule.ranks);
  for (Step& step : renamed.steps) {
    for (auto& [kind, chunk, from, to] : step) {
      const int block = moved_block(schedule, order, chunk / chunks_a_block);
      chunk = block * chunks_a_block + chunk % chunks_a_block;
      from = order[at(from)];
      to = order[at(to)];
    }
  }
  return renamed;
}

std::vector<int> hosts_of_neighbours(int ranks, int ranks_a_host) {
  std::vector<int> hosts;
  hosts.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank / ranks_a_host);
  return hosts;
}

std::vector<std::vector<int>> ranks_of_hosts(const std::vector<int>& hosts) {
  std::unordered_map<int, std::size_t> place;  // of each host, as they appear
  std::vector<std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [host, is_new] = place.try_emplace(hosts[rank], place.size());
    if (is_new) ranks.emplace_back();
    ranks[host->second].push_back(static_cast<int>(rank));
  }
  return ranks;
}

std::vector<int> order_by_host(const std::vector<int>& hosts) {
  std::vector<int> order;
  for (const std::vector<int>& ranks : ranks_of_hosts(hosts)) order.insert(order.end(), ranks.begin(), ranks.end());
  return order;
}

std::vector<int> inverse_of(const std::vector<int>& order) {
  std::vector<int> places(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) places[at(order[place])] = static_cast<int>(place);
  return places;
}

}  // namespace lockstep
