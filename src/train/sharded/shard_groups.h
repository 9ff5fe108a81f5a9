#pragma once

#include <lockstep/group.h>
#include <lockstep/sharded.h>

#include <optional>
#include <vector>

namespace lockstep {

/// Over which ranks a copy of the training's state is cut into pieces, and which ranks have the same piece of the other
/// copies. Every rank is in one group of each kind.
struct ShardGroups {
  /// 0 for ranks of the first copy, or the only one.
  int copy() const { return copies ? copies->rank() : 0; }

  Group shards;
  std::optional<Group> copies;  ///< none where all ranks share one copy: a group of one would have memory of its own
};

/// Collective. Throws Error (kInvalidArgument) for hosts of which one has more ranks than another.
ShardGroups shard_groups(const Group& group, Sharding sharding);

/// For each rank, how many ranks before it are on its host. `hosts` is as Group::hosts() says it. Throws as above.
std::vector<int> places_on_hosts(const std::vector<int>& hosts);

}  // namespace lockstep
