#include "planner/network/load_forms.h"

#include "planner/network/core_load_forms.h"

#include <algorithm>
#include <array>
#include <bit>

namespace lockstep {

namespace {

using Link = Busiest::Link;

Loads all_alike(int p, const RankLoad& each, const Link& busiest_link) {
  return loads_of(p, busiest_link, [each](int) { return each; });
}

Loads naive_loads(int p, double n) { return all_alike(p, reducing(both_ways(of_messages(p - 1, n))), {0, 1, n}); }

/// Root 0 sends `bytes` to every other rank.
RankLoad scattered(int p, double bytes, int rank) {
  if (rank == 0) return {.sent = of_messages(p - 1, bytes), .received = {}};
  return {.sent = {}, .received = of_messages(1, bytes)};
}
RankLoad gathered_at_root(int p, double bytes, int rank) { return reversed(scattered(p, bytes, rank)); }

Loads star_broadcast_loads(int p, double n) {
  return loads_of(p, {0, 1, n}, [=](int rank) { return scattered(p, n, rank); });
}
Loads star_scatter_loads(int p, double n) { return star_broadcast_loads(p, n / p); }
Loads star_reduce_loads(int p, double n) {
  return loads_of(p, {1, 0, n}, [=](int rank) { return reducing(gathered_at_root(p, n, rank)); });
}
Loads star_gather_loads(int p, double n) {
  return loads_of(p, {1, 0, n / p}, [=](int rank) { return gathered_at_root(p, n / p, rank); });
}
Loads star_loads(int p, double n) {
  return loads_of(p, {0, 1, n},
                  [=](int rank) { return reducing(gathered_at_root(p, n, rank)) + scattered(p, n, rank); });
}

/// An all_gather in which all do alike. A reduce_scatter is the same backwards, an all_reduce both.
struct Half {
  RankLoad load;
  Link link;
};
/// Everybody sends everybody n/p.
Half direct_half(int p, double n) { return {both_ways(of_messages(p - 1, n / p)), {0, 1, n / p}}; }
/// As much, but all of it to the next rank.
Half ring_half(int p, double n) { return {both_ways(of_messages(p - 1, n / p)), {0, 1, (p - 1) * n / p}}; }
/// As much, a half to either neighbour; two ranks have but one.
Half bidirectional_half(int p, double n) {
  const int neighbours = p > 2 ? 2 : 1;
  return {both_ways(of_messages(neighbours * (p - 1), n / p / neighbours)), {0, 1, (p - 1) * n / p / neighbours}};
}

template <Half (*of_half)(int, double)>
Loads all_gather_loads(int p, double n) {
  const auto [load, link] = of_half(p, n);
  return all_alike(p, load, link);
}
template <Half (*of_half)(int, double)>
Loads reduce_scatter_loads(int p, double n) {
  const auto [load, link] = of_half(p, n);
  return all_alike(p, reducing(load), link);
}
template <Half (*of_half)(int, double)>
Loads all_reduce_loads(int p, double n) {
  const auto [load, link] = of_half(p, n);
  return all_alike(p, reducing(load) + load, {link.from, link.to, 2 * link.bytes});
}

/// The root scatters; then everybody sends its part to everybody but the root.
Loads direct_broadcast_loads(int p, double n) {
  const auto of_rank = [=](int rank) {
    const RankLoad exchange{.sent = of_messages(rank == 0 ? p - 1 : p - 2, n / p),
                            .received = of_messages(rank == 0 ? 0 : p - 1, n / p)};
    return scattered(p, n / p, rank) + exchange;
  };
  return loads_of(p, {0, 1, 2 * n / p}, of_rank);
}
Loads direct_reduce_loads(int p, double n) {
  const auto of_rank = [=](int rank) { return reducing(direct_half(p, n).load) + gathered_at_root(p, n / p, rank); };
  return loads_of(p, {1, 0, 2 * n / p}, of_rank);
}

/// The whole buffer in p messages along the open ring, from `first` to `last`.
RankLoad passed_on(int p, double n, int rank, int first, int last) {
  const Traffic all = of_messages(p, n / p);
  return {.sent = rank == last ? Traffic{} : all, .received = rank == first ? Traffic{} : all};
}
Loads ring_broadcast_loads(int p, double n) {
  return loads_of(p, {0, 1, n}, [=](int rank) { return passed_on(p, n, rank, 0, p - 1); });
}
Loads ring_reduce_loads(int p, double n) {
  return loads_of(p, {1, 2 % p, n}, [=](int rank) { return reducing(passed_on(p, n, rank, 1, 0)); });
}

/// Down the binomial tree over p ranks from rank 0: a rank's children are as far from it as powers of two below its
/// own lowest bit.
RankLoad down_tree(int p, double n, int rank) {
  int children = 0;
  for (int span = 1; rank + span < p && (rank & span) == 0; span *= 2) ++children;
  return {.sent = of_messages(children, n), .received = of_messages(rank == 0 ? 0 : 1, n)};
}
RankLoad up_tree(int p, double n, int rank) { return reducing(reversed(down_tree(p, n, rank))); }

Loads tree_broadcast_loads(int p, double n) {
  return loads_of(p, {0, 1, n}, [=](int rank) { return down_tree(p, n, rank); });
}
Loads tree_reduce_loads(int p, double n) {
  return loads_of(p, {1, 0, n}, [=](int rank) { return up_tree(p, n, rank); });
}
Loads tree_loads(int p, double n) {
  return loads_of(p, {0, 1, n}, [=](int rank) { return up_tree(p, n, rank) + down_tree(p, n, rank); });
}

/// The bytes of so many blocks, of one for each rank.
double blocks(int count, int p, double n) { return count * n / p; }

/// Down the same tree the blocks of all ranks below.
RankLoad scattered_by_tree(int p, double n, int rank) {
  const int span = rank == 0 ? p : std::min(rank & -rank, p - rank);  // ranks of its own tree, itself among them
  return {.sent = {down_tree(p, 0, rank).sent.messages, blocks(span - 1, p, n)},
          .received = of_messages(rank == 0 ? 0 : 1, blocks(span, p, n))};
}
/// The root's child with the most below it, and how much that is: the last child's tree may be cut short.
Link to_largest_child(int p, double n) {
  const int last = static_cast<int>(std::bit_ceil(static_cast<unsigned>(p))) / 2;
  const int full = last / 2;
  return p - last > full ? Link{0, last, blocks(p - last, p, n)} : Link{0, full, blocks(full, p, n)};
}
Loads tree_scatter_loads(int p, double n) {
  return loads_of(p, to_largest_child(p, n), [=](int rank) { return scattered_by_tree(p, n, rank); });
}
Loads tree_gather_loads(int p, double n) {
  const auto [root, child, bytes] = to_largest_child(p, n);
  return loads_of(p, {child, root, bytes}, [=](int rank) { return reversed(scattered_by_tree(p, n, rank)); });
}

/// In ceil(log2 p) rounds every rank sends p - 1 blocks.
RankLoad in_rounds(int p, double n) {
  return both_ways({static_cast<double>(std::bit_width(static_cast<unsigned>(p - 1))), blocks(p - 1, p, n)});
}
/// In the tree of every second block a link of one place leads to a leaf: no link has more blocks, and of 3 ranks one
/// of two places has as many.
Loads tree_all_gather_loads(int p, double n) { return all_alike(p, in_rounds(p, n), {0, 1, blocks(p / 2, p, n)}); }
Loads tree_reduce_scatter_loads(int p, double n) {
  return all_alike(p, reducing(in_rounds(p, n)), {0, p == 3 ? 1 : p - 1, blocks(p / 2, p, n)});
}

/// The farther half of the blocks goes half of the ranks on; of 3 ranks as many go one place.
Loads circulant_reduce_scatter_loads(int p, double n) {
  return all_alike(p, reducing(in_rounds(p, n)), {0, p == 3 ? 1 : (p + 1) / 2, blocks(p / 2, p, n)});
}
Loads circulant_all_gather_loads(int p, double n) {
  return all_alike(p, in_rounds(p, n), {0, p / 2, blocks(p / 2, p, n)});
}
/// One message each way in each of as many rounds, of nothing.
Loads dissemination_loads(int p, double) { return all_alike(p, in_rounds(p, 0), {0, 1, 0}); }
/// What is gathered goes back by as many places: of an even number of ranks that is the same link, and of 3 or 5 that
/// of the next round, which has one block.
Loads circulant_loads(int p, double n) {
  const int going_back = p % 2 == 0 ? p / 2 : (p <= 5 ? 1 : 0);
  return all_alike(p, reducing(in_rounds(p, n)) + in_rounds(p, n), {0, p / 2, blocks(p / 2 + going_back, p, n)});
}
/// The root scatters; then all gather but the root, which has everything: who is a skip away from it leaves that out.
Loads circulant_broadcast_loads(int p, double n) {
  const auto of_rank = [=](int rank) {
    RankLoad gather = in_rounds(p, n);
    if (rank == 0) gather.received = {};
    for (int end = p; end > 1; end = (end + 1) / 2) {
      if (rank != (end + 1) / 2) continue;
      gather.sent.messages -= 1;
      gather.sent.bytes -= blocks(end / 2, p, n);
    }
    return scattered(p, n / p, rank) + gather;
  };
  return loads_of(p, {0, p / 2, blocks(p / 2 + 1, p, n)}, of_rank);
}

/// Half of the buffer up and down each of two in-order trees over the places 1 to p: odd places are leaves, even ones
/// have a child on either side, the last one none behind it, and the root is the highest power of two. The second tree
/// is the first mirrored, or, of an odd number, moved on by one. A link that both trees have, in opposite directions,
/// carries two halves: the lowest lies between the second and the third rank, of 2, 6, 10 and so on the first two.
struct TwoTreesPlace {
  TwoTreesPlace(int places, int place) {
    const int moved_back = place == 1 ? places : place - 1;
    for (const int there : {place, places % 2 == 0 ? places + 1 - place : moved_back}) {
      roots += there == static_cast<int>(std::bit_floor(static_cast<unsigned>(places))) ? 1 : 0;
      children += there % 2 == 1 ? 0 : (there < places ? 2 : 1);
    }
  }
  int roots = 0;  ///< trees whose root this is
  int children = 0;
};
Loads double_tree_loads(int p, double n) {
  const auto of_rank = [=](int rank) {
    const TwoTreesPlace at(p, rank + 1);
    RankLoad load = both_ways(of_messages(2 - at.roots + at.children, n / 2));
    load.reduced_bytes = at.children * n / 2;
    return load;
  };
  const int first = p % 4 == 2 ? 0 : 1;
  return loads_of(p, {first, first + 1, n}, of_rank);
}

/// Over the ranks but the root, which stands above both trees. Two ranks have one message.
RankLoad below_two_trees(int p, double n, int rank) {
  if (p == 2) return scattered(p, n, rank);
  if (rank == 0) return {.sent = of_messages(2, n / 2), .received = {}};
  return {.sent = of_messages(TwoTreesPlace(p - 1, rank).children, n / 2), .received = of_messages(2, n / 2)};
}
Loads double_tree_broadcast_loads(int p, double n) {
  const auto places = static_cast<unsigned>(p - 1);
  const int first_root = static_cast<int>(std::bit_floor(places));
  const int second_root = p % 2 == 1 ? p - first_root : first_root % (p - 1) + 1;
  return loads_of(p, {0, std::min(first_root, second_root), p == 2 ? n : n / 2},
                  [=](int rank) { return below_two_trees(p, n, rank); });
}
/// The first rank below the root is the second tree's last leaf, which is its root where it is the only one.
Loads double_tree_reduce_loads(int p, double n) {
  const int parent = std::has_single_bit(static_cast<unsigned>(p - 1)) ? 0 : 2;
  return loads_of(p, {1, parent, p == 2 ? n : n / 2},
                  [=](int rank) { return reducing(reversed(below_two_trees(p, n, rank))); });
}

struct Entry {
  std::string_view algorithm;
  Collective collective;
  Loads (*loads)(int p, double n);
};
constexpr Entry kEntries[] = {
    {"naive", Collective::kAllReduce, naive_loads},
    {"star", Collective::kAllReduce, star_loads},
    {"star", Collective::kBroadcast, star_broadcast_loads},
    {"star", Collective::kReduce, star_reduce_loads},
    {"star", Collective::kScatter, star_scatter_loads},
    {"star", Collective::kGather, star_gather_loads},
    {"direct", Collective::kAllReduce, all_reduce_loads<direct_half>},
    {"direct", Collective::kReduceScatter, reduce_scatter_loads<direct_half>},
    {"direct", Collective::kAllGather, all_gather_loads<direct_half>},
    {"direct", Collective::kAllToAll, all_gather_loads<direct_half>},
    {"direct", Collective::kBroadcast, direct_broadcast_loads},
    {"direct", Collective::kReduce, direct_reduce_loads},
    {"pairwise", Collective::kAllToAll, all_gather_loads<direct_half>},
    {"ring", Collective::kAllReduce, all_reduce_loads<ring_half>},
    {"ring", Collective::kReduceScatter, reduce_scatter_loads<ring_half>},
    {"ring", Collective::kAllGather, all_gather_loads<ring_half>},
    {"ring", Collective::kBroadcast, ring_broadcast_loads},
    {"ring", Collective::kReduce, ring_reduce_loads},
    {"bidirectional_ring", Collective::kAllReduce, all_reduce_loads<bidirectional_half>},
    {"bidirectional_ring", Collective::kReduceScatter, reduce_scatter_loads<bidirectional_half>},
    {"bidirectional_ring", Collective::kAllGather, all_gather_loads<bidirectional_half>},
    {"tree", Collective::kAllReduce, tree_loads},
    {"tree", Collective::kBroadcast, tree_broadcast_loads},
    {"tree", Collective::kReduce, tree_reduce_loads},
    {"tree", Collective::kScatter, tree_scatter_loads},
    {"tree", Collective::kGather, tree_gather_loads},
    {"tree", Collective::kReduceScatter, tree_reduce_scatter_loads},
    {"tree", Collective::kAllGather, tree_all_gather_loads},
    {"double_tree", Collective::kAllReduce, double_tree_loads},
    {"double_tree", Collective::kBroadcast, double_tree_broadcast_loads},
    {"double_tree", Collective::kReduce, double_tree_reduce_loads},
    {"recursive_doubling", Collective::kAllReduce, recursive_doubling_loads},
    {"recursive_doubling", Collective::kAllGather, recursive_doubling_all_gather_loads},
    {"halving_doubling", Collective::kAllReduce, halving_doubling_loads},
    {"halving_doubling", Collective::kReduceScatter, halving_doubling_reduce_scatter_loads},
    {"halving_doubling", Collective::kAllGather, halving_doubling_all_gather_loads},
    {"swing", Collective::kAllReduce, halving_doubling_loads},
    {"swing", Collective::kReduceScatter, swing_reduce_scatter_loads},
    {"swing", Collective::kAllGather, swing_all_gather_loads},
    {"circulant", Collective::kAllReduce, circulant_loads},
    {"circulant", Collective::kReduceScatter, circulant_reduce_scatter_loads},
    {"circulant", Collective::kAllGather, circulant_all_gather_loads},
    {"circulant", Collective::kBroadcast, circulant_broadcast_loads},
    {"dissemination", Collective::kBarrier, dissemination_loads},
};

}  // namespace

LoadForm find_load_form(std::string_view algorithm, Collective collective) {
  for (const auto& [name, of, loads] : kEntries) {
    if (name == algorithm && of == collective) return loads;
  }
  if (collective == Collective::kBarrier) {
    const LoadForm of_all_reduce = find_load_form(algorithm, Collective::kAllReduce);
    if (!of_all_reduce) return {};
    return [of_all_reduce](int p, double) { return of_all_reduce(p, 0); };
  }
  return {};
}

}  // namespace lockstep
