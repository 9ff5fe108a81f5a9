// All of it priced, some of it measured between network namespaces: docs/design/hosts.md. What decides is how many
// steps there are, each of which takes a latency, and how much crosses a host's card. A card can hear of all other
// hosts at once if they are not too many and do not send too much, which is as few steps as there can be.
#include "planner/selection/between_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace lockstep {

namespace {

using Hosts = std::vector<std::vector<int>>;  ///< the ranks of each

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kSmall = 128 * kKiB;

class Between {
 public:
  explicit Between(const Hosts& hosts) : hosts_(hosts) {
    for (const std::vector<int>& here : hosts) ranks_ += here.size();
  }

  std::size_t hosts() const { return hosts_.size(); }
  std::uint64_t ranks() const { return ranks_; }
  bool are_few() const { return hosts() <= 4; }

  /// Whether hosts send to all others at once, which takes fewest steps and most messages: the least, of which each
  /// gets all; what is small, and what is not, of which each gets a share.
  bool send_least_to_all() const { return hosts() <= 12; }
  bool send_small_to_all() const { return hosts() <= 24; }
  bool send_large_to_all() const { return hosts() <= 5; }

  /// Whether each rank has a card of its own.
  bool are_lone() const { return ranks_ == hosts(); }

  /// Whether an all_reduce has chunks that fit hosts of all these sizes, and are not crumbs.
  bool can_share() const {
    constexpr std::uint64_t kMostChunksPerRank = 16;
    std::uint64_t slices = 1;
    for (const std::vector<int>& here : hosts_) {
      slices = std::lcm(slices, here.size());
      if (slices * hosts() > kMostChunksPerRank * ranks_) return false;
    }
    return true;
  }

  /// Both, or the second alone where there is nothing to do within hosts.
  std::string composed(std::string_view local, std::string_view global) const {
    return are_lone() ? std::string(global) : fmt::format("hierarchical:{},{}", local, global);
  }

  /// Of those with fewest steps and no byte too many the one that crosses between racks least.
  const char* in_few_steps() const { return std::has_single_bit(hosts()) ? "swing" : "circulant"; }

  std::uint64_t end_of_least() const { return send_least_to_all() ? std::bit_floor(48 * kKiB / hosts()) : 12 * kKiB; }

  /// From here on a ring is ahead, whose steps overlap; it has one for each rank. It minds racks least, too.
  std::uint64_t where_a_ring_begins(std::uint64_t at_least) const {
    return std::bit_floor(std::max(at_least, (are_lone() ? 128 : 64) * kKiB * ranks_));
  }

 private:
  const Hosts& hosts_;
  std::uint64_t ranks_ = 0;
};

/// Half of the buffer crosses, by a ring nearly all.
std::string all_reduce_of_two(const Between& between) {
  const std::string small = between.composed("recursive_doubling", "recursive_doubling");
  if (!between.can_share()) return fmt::format("0-{0} {1}, {0}- ring", kSmall, small);
  return fmt::format("0-{0} {1}, {0}-{2} {3}, {2}- {4}", 24 * kKiB, small, 3 * kSmall,
                     between.composed("circulant", "recursive_doubling"), between.composed("circulant", "circulant"));
}

/// What is small one rank of each host takes between them, what is larger all of a host do, each with a share. Where
/// there are no shares that fit, a ring is next.
std::string all_reduce_of_more(const Between& between) {
  const char* const in_steps = between.in_few_steps();
  const std::string least =
      between.composed("recursive_doubling", between.send_least_to_all() ? "naive" : "recursive_doubling");
  const std::string small = between.send_small_to_all() ? between.composed("recursive_doubling", "direct")
                                                        : between.composed("circulant", in_steps);
  if (!between.can_share()) {
    return fmt::format("0-{0} {1}, {0}-{2} {3}, {2}- ring", between.end_of_least(), least, 4 * kSmall,
                       between.send_small_to_all() ? small : least);
  }
  return fmt::format("0-{0} {1}, {0}-{2} {3}, {2}-{4} {5}, {4}- ring", between.end_of_least(), least, kSmall, small,
                     between.where_a_ring_begins(between.are_lone() ? 2 * kMiB : 4 * kMiB),
                     between.composed("circulant", between.send_large_to_all() ? "direct" : in_steps));
}

/// Reduce_scatter and all_gather.
std::string blocks_between(const Between& between) {
  if (!between.are_lone() && between.hosts() == 2) return "hierarchical:circulant,direct";
  if (!between.are_lone() && between.are_few()) {
    return "0-128KiB hierarchical:circulant,direct, 128KiB-2MiB hierarchical:ring,ring, 2MiB- ring";
  }
  const std::string to_all = between.composed("circulant", "direct");
  const std::string in_steps = between.composed("circulant", between.in_few_steps());
  const bool is_small_to_all = between.are_lone() ? between.send_small_to_all() : between.send_large_to_all();
  const bool is_large_to_all = between.are_lone() && between.send_large_to_all();
  return fmt::format("0-{0} {1}, {0}-{2} {3}, {2}- ring", kSmall, is_small_to_all ? to_all : in_steps,
                     between.where_a_ring_begins(2 * kMiB), is_large_to_all ? to_all : in_steps);
}

/// Broadcast and reduce: from 32 KiB on by `middle`, then by `large`.
std::string rooted_between(const Between& between, const std::string& middle, const std::string& large) {
  if (between.hosts() == 2) return fmt::format("0-512KiB {}, 512KiB- ring", between.composed("tree", "star"));
  if (!between.are_lone() && between.are_few()) {
    return fmt::format("0-{0} hierarchical:tree,star, {0}-{1} hierarchical:ring,ring, {1}- ring",
                       std::bit_floor(4 * kKiB * between.ranks()),
                       std::bit_floor(std::max(512 * kKiB, 32 * kKiB * between.ranks())));
  }
  const std::string least = between.composed("tree", between.send_least_to_all() ? "star" : "tree");
  return fmt::format("0-{0} {1}, {0}-{2} {3}, {2}-{4} {5}, {4}-{6} {7}, {6}- ring", between.end_of_least(), least,
                     kSmall / 4, between.send_small_to_all() ? between.composed("tree", "direct") : least, kSmall,
                     middle, between.where_a_ring_begins(kMiB), large);
}

}  // namespace

std::string built_in_between_hosts(const std::vector<std::vector<int>>& hosts) {
  const Between between(hosts);
  const std::string blocks = blocks_between(between);
  const std::string shares = between.composed("direct", "direct");
  const std::string in_steps = between.composed("circulant", "circulant");
  const std::string to_all = between.composed("circulant", "direct");
  return fmt::format("all_reduce: {}; reduce_scatter: {}; all_gather: {}; broadcast: {}; reduce: {}",
                     between.hosts() == 2 ? all_reduce_of_two(between) : all_reduce_of_more(between), blocks, blocks,
                     rooted_between(between, between.send_small_to_all() ? to_all : in_steps,
                                    between.are_lone() && between.send_large_to_all() ? to_all : in_steps),
                     rooted_between(between, shares, shares));
}

}  // namespace lockstep
