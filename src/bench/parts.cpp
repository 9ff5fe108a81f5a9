#include "bench/parts.h"

#include "base/refuse.h"
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lockstep::bench {

namespace {

/// The hosts of a group's ranks, numbered from 0 as they first appear.
std::vector<int> hosts_in(int group, const std::vector<int>& groups, const std::vector<int>& hosts) {
  std::vector<int> seen;
  std::vector<int> result;
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    if (groups[rank] != group) continue;
    const auto found = std::find(seen.begin(), seen.end(), hosts[rank]);
    result.push_back(static_cast<int>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(hosts[rank]);
  }
  return result;
}

}  // namespace

std::vector<int> groups_of(const Options& options, int ranks) {
  if (options.groups < 1 || ranks % options.groups != 0) {
    refuse(fmt::format("--groups says {}, and {} cannot be split into so many groups of as many each.", options.groups,
                       counted(static_cast<std::uint64_t>(ranks), "rank")));
  }
  const int in_each = ranks / options.groups;
  std::vector<int> groups;
  groups.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    groups.push_back(options.interleaved ? rank % options.groups : rank / in_each);
  }
  return groups;
}

void require_alike(const Options& options, const std::vector<int>& hosts) {
  const std::vector<int> groups = groups_of(options, static_cast<int>(hosts.size()));
  for (int group = 1; group < options.groups; ++group) {
    if (hosts_in(group, groups, hosts) == hosts_in(0, groups, hosts)) continue;
    refuse(fmt::format("--groups {}: ranks of group {} share hosts otherwise than those of group 0.", options.groups,
                       group));
  }
}

Group part_of(const Group& all, const Options& options) {
  const std::vector<int> groups = groups_of(options, all.size());
  if (options.groups == 1) return all;
  require_alike(options, all.hosts());
  return all.split(groups[static_cast<std::size_t>(all.rank())]);
}

}  // namespace lockstep::bench
