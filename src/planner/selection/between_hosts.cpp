// All of it priced, some of it measured between network namespaces: docs/design/hosts.md. What decides is how many
// steps there are, each of which takes a latency, and how much crosses a host's card. A card can hear of all other
// hosts at once if they are not too many and do not send too much, which is as few steps as there can be.
#include "planner/selection/between_hosts.h"

#include "schedule/segmented.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>

namespace lockstep {

namespace {

using Hosts = std::vector<std::vector<int>>;  ///< the ranks of each

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kSmall = 128 * kKiB;
constexpr std::uint64_t kMostSegments = 16;

/// The hosts, and what follows from how many they are, with how many ranks.
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

  /// Of an all_reduce that all ranks of a host have a share of; none where sizes of hosts fit only crumbs.
  std::optional<std::uint64_t> shared_chunks() const {
    constexpr std::uint64_t kMostChunksPerRank = 16;
    std::uint64_t slices = 1;
    for (const std::vector<int>& here : hosts_) {
      slices = std::lcm(slices, here.size());
      if (slices * hosts() > kMostChunksPerRank * ranks_) return std::nullopt;
    }
    return slices * hosts();
  }

  /// Whether a composition with so many chunks may be cut into segments, and these are no crumbs.
  bool can_be_cut(std::uint64_t chunks) const {
    constexpr std::uint64_t kMostChunksPerRank = 4;
    return !are_lone() && chunks <= kMostChunksPerRank * ranks_ &&
           kMostSegments * chunks * ranks_ <= static_cast<std::uint64_t>(kMostTransfersInSegments);
  }

  /// Both, or the second alone where there is nothing to do within hosts.
  std::string composed(std::string_view local, std::string_view global) const {
    return are_lone() ? std::string(global) : fmt::format("hierarchical:{},{}", local, global);
  }

  /// Of those with fewest steps and no byte too many the one that crosses between racks least.
  const char* in_few_steps() const { return std::has_single_bit(hosts()) ? "swing" : "circulant"; }

  /// Up to here all of a buffer may go to every other host at once, or go on at every step.
  std::uint64_t end_of_least() const { return send_least_to_all() ? std::bit_floor(48 * kKiB / hosts()) : 12 * kKiB; }

  /// From here on a ring is ahead of what has few steps, since its own overlap; it has one for each rank.
  std::uint64_t where_a_ring_begins(std::uint64_t at_least) const {
    return std::bit_floor(std::max(at_least, (are_lone() ? 128 : 64) * kKiB * ranks_));
  }

  /// From here on a pipeline of a composition is, whose parts overlap; each segment takes a step for each host.
  std::uint64_t where_a_pipeline_begins(std::uint64_t at_least, std::uint64_t per_host) const {
    return std::bit_floor(std::max(at_least, per_host * hosts()));
  }

 private:
  const Hosts& hosts_;
  std::uint64_t ranks_ = 0;
};

/// What the largest buffers go by, from where on.
struct Largest {
  std::uint64_t begin;
  std::string ranges;
};

Largest ring_from(std::uint64_t begin) { return {begin, fmt::format("{}- ring", begin)}; }

/// In more segments from `many` on. A ring between hosts has few messages to each.
Largest pipeline_from(std::uint64_t begin, std::uint64_t many) {
  constexpr const char* kCut = "hierarchical:circulant,ring";
  const std::string last = fmt::format("{}- segmented:{}:{}", std::max(begin, many), kMostSegments, kCut);
  return {begin, begin < many ? fmt::format("{}-{} segmented:8:{}, {}", begin, many, kCut, last) : last};
}

Largest largest_all_reduces(const Between& between, std::uint64_t chunks) {
  if (between.can_be_cut(chunks)) {
    return pipeline_from(between.where_a_pipeline_begins(kMiB, 256 * kKiB), 4 * kMiB);
  }
  return ring_from(between.where_a_ring_begins(between.are_lone() ? 2 * kMiB : 4 * kMiB));
}

/// Half of the buffer crosses, by a ring nearly all.
std::string all_reduce_of_two(const Between& between) {
  const std::string small = between.composed("recursive_doubling", "recursive_doubling");
  const std::string large = between.composed("circulant", "circulant");
  const std::optional<std::uint64_t> chunks = between.shared_chunks();
  if (!chunks) return fmt::format("0-{0} {1}, {0}- ring", kSmall, small);
  const std::string text = fmt::format("0-{0} {1}, {0}-{2} {3}, {2}-", 24 * kKiB, small, 384 * kKiB,
                                       between.composed("circulant", "recursive_doubling"));
  if (!between.can_be_cut(*chunks)) return text + " " + large;
  const Largest largest = largest_all_reduces(between, *chunks);
  return fmt::format("{}{} {}, {}", text, largest.begin, large, largest.ranges);
}

/// What is small one rank of each host takes between them, what is larger all of a host do, each with a share. Where
/// there are no shares that fit, a ring is next.
std::string all_reduce_of_more(const Between& between) {
  const char* const in_steps = between.in_few_steps();
  const std::string least =
      between.composed("recursive_doubling", between.send_least_to_all() ? "naive" : "recursive_doubling");
  const std::string small = between.send_small_to_all() ? between.composed("recursive_doubling", "direct")
                                                        : between.composed("circulant", in_steps);
  const std::optional<std::uint64_t> chunks = between.shared_chunks();
  if (!chunks) {
    return fmt::format("0-{0} {1}, {0}-{2} {3}, {2}- ring", between.end_of_least(), least, 512 * kKiB,
                       between.send_small_to_all() ? small : least);
  }
  const Largest largest = largest_all_reduces(between, *chunks);
  return fmt::format("0-{0} {1}, {0}-{2} {3}, {2}-{4} {5}, {6}", between.end_of_least(), least, kSmall, small,
                     largest.begin, between.composed("circulant", between.send_large_to_all() ? "direct" : in_steps),
                     largest.ranges);
}

/// Reduce_scatter and all_gather, of one chunk a rank.
std::string blocks_between(const Between& between) {
  const std::string to_all = between.composed("circulant", "direct");
  const std::string in_steps = between.composed("circulant", between.in_few_steps());
  const bool can_be_cut = between.can_be_cut(between.ranks());
  const Largest largest = can_be_cut ? pipeline_from(between.where_a_pipeline_begins(2 * kMiB, 512 * kKiB), 16 * kMiB)
                                     : ring_from(between.where_a_ring_begins(2 * kMiB));
  if (!between.are_lone() && between.hosts() == 2) {
    return can_be_cut ? fmt::format("0-{} {}, {}", largest.begin, to_all, largest.ranges) : to_all;
  }
  if (!between.are_lone() && between.are_few()) {
    return fmt::format("0-{0} {1}, {0}-{2} hierarchical:ring,ring, {3}", kSmall, to_all, largest.begin, largest.ranges);
  }
  const bool is_small_to_all = between.are_lone() ? between.send_small_to_all() : between.send_large_to_all();
  const bool is_large_to_all = between.are_lone() && between.send_large_to_all();
  return fmt::format("0-{0} {1}, {0}-{2} {3}, {4}", kSmall, is_small_to_all ? to_all : in_steps, largest.begin,
                     is_large_to_all ? to_all : in_steps, largest.ranges);
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
                     32 * kKiB, between.send_small_to_all() ? between.composed("tree", "direct") : least, kSmall,
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
