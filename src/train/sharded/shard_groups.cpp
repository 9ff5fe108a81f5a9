#include "train/sharded/shard_groups.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>

namespace lockstep {

std::vector<int> places_on_hosts(const std::vector<int>& hosts) {
  std::vector<int> places;
  std::vector<int> ranks_of(static_cast<std::size_t>(*std::max_element(hosts.begin(), hosts.end()) + 1));
  for (const int host : hosts) places.push_back(ranks_of[static_cast<std::size_t>(host)]++);
  for (std::size_t host = 1; host < ranks_of.size(); ++host) {
    if (ranks_of[host] == ranks_of[0]) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("Sharding::kHost gives every host a whole copy, cut over its ranks, and so takes equally many "
                    "ranks on each: host 0 has {} and host {} has {}. Start as many on each host, or take "
                    "Sharding::kWorld.",
                    ranks_of[0], host, ranks_of[host]));
  }
  return places;
}

ShardGroups shard_groups(const Group& group, Sharding sharding) {
  const std::vector<int> hosts = group.hosts();
  const bool one_copy = std::all_of(hosts.begin(), hosts.end(), [](int host) { return host == 0; });
  if (sharding == Sharding::kWorld || one_copy) return {group, std::nullopt};
  const auto rank = static_cast<std::size_t>(group.rank());
  const int place = places_on_hosts(hosts)[rank];
  Group shards = group.split(hosts[rank]);
  return {std::move(shards), group.split(place)};
}

}  // namespace lockstep
