#include "planner/network/core_load_forms.h"

#include "algorithms/halving.h"

#include <algorithm>
#include <bit>

namespace lockstep {

namespace {

/// Where a rank stands: the largest power of two of them exchange, the core, and each of the others stands behind one
/// of the first of these, its neighbour in rank.
struct Standing {
  Standing(int p, int rank)
      : core_size(static_cast<int>(std::bit_floor(static_cast<unsigned>(p)))),
        behind(p - core_size),
        core(rank < 2 * behind ? rank / 2 : rank - behind),
        is_behind(rank < 2 * behind && rank % 2 == 1),
        followers(rank < 2 * behind && rank % 2 == 0 ? 1 : 0),
        exchanges(std::bit_width(static_cast<unsigned>(core_size - 1))) {}

  int core_size;
  int behind;  ///< ranks that are not of the core
  int core;    ///< which of the core this is, or stands behind
  bool is_behind;
  int followers;  ///< ranks that stand behind this one
  int exchanges;  ///< among the core, of each
};

/// Blocks that a rank of the core has at hand, its own and those of ranks behind, before each exchange, in all. Where
/// it asks who is near first, these are of the `have` ranks around it.
int blocks_from_near(const Standing& at) {
  int blocks = 0;
  for (int have = 1; have < at.core_size; have *= 2) {
    blocks += have + std::clamp(at.behind - at.core / have * have, 0, have);
  }
  return blocks;
}
/// Those of the core ranks that are at `place` modulo `period`, and of the ranks behind them.
int blocks_at(const Standing& at, int place, int period) {
  return at.core_size / period + (at.behind > place ? (at.behind - 1 - place) / period + 1 : 0);
}
/// Where it asks who is far first, of ranks at equal distances.
template <algorithm::Partner partner>
int blocks_from_far(const Standing& at) {
  int blocks = 0;
  for (int step = at.exchanges; step > 0; --step) {
    const algorithm::Reach reach = algorithm::reach_of(partner, at.core, step, at.core_size);
    blocks += blocks_at(at, reach.first, reach.period);
    if (reach.second != reach.first) blocks += blocks_at(at, reach.second, reach.period);
  }
  return blocks;
}

/// Who stands behind hands in its block, and is handed the others' in the end.
template <int (*blocks_of)(const Standing&)>
RankLoad gathered_by_core(int p, double n, int rank) {
  const Standing at(p, rank);
  const double others = (p - 1) * n / p;
  if (at.is_behind) return {.sent = of_messages(1, n / p), .received = of_messages(1, others)};
  const double count = at.exchanges + at.followers;
  return {.sent = {count, blocks_of(at) * n / p + at.followers * others}, .received = {count, others}};
}

bool all_exchange(int p) { return std::has_single_bit(static_cast<unsigned>(p)); }
/// What the first rank that has one behind it hands out to it in the end.
Busiest::Link handed_out(int p, double n) { return {0, 1, (p - 1) * n / p}; }

}  // namespace

Loads recursive_doubling_loads(int p, double n) {
  const auto of_rank = [=](int rank) {
    const Standing at(p, rank);
    if (at.is_behind) return both_ways(of_messages(1, n));
    return reducing(both_ways(of_messages(at.exchanges + at.followers, n)));
  };
  return loads_of(p, {0, 1, n}, of_rank);
}

Loads halving_doubling_loads(int p, double n) {
  const auto of_rank = [=](int rank) {
    const Standing at(p, rank);
    const RankLoad whole = both_ways(of_messages(at.is_behind ? 1 : at.followers, n));
    if (at.is_behind) return whole;
    const RankLoad half = both_ways({1.0 * at.exchanges, (at.core_size - 1) * n / at.core_size});
    return reducing(half + whole) + half;
  };
  return loads_of(p, {0, 1, n}, of_rank);
}

Loads recursive_doubling_all_gather_loads(int p, double n) {
  const Busiest::Link last_exchange{0, p / 2, n / 2};
  const Busiest::Link link = all_exchange(p) ? last_exchange : handed_out(p, n);
  return loads_of(p, link, [=](int rank) { return gathered_by_core<blocks_from_near>(p, n, rank); });
}

namespace {

template <algorithm::Partner partner>
Loads halving_all_gather_loads(int p, double n) {
  const Busiest::Link last_exchange{0, 1, n / 2};
  const Busiest::Link link = all_exchange(p) ? last_exchange : handed_out(p, n);
  return loads_of(p, link, [=](int rank) { return gathered_by_core<blocks_from_far<partner>>(p, n, rank); });
}

/// The all_gather backwards, except that the ranks behind hand in whole buffers.
template <algorithm::Partner partner>
Loads halving_reduce_scatter_loads(int p, double n) {
  const auto of_rank = [=](int rank) {
    const Standing at(p, rank);
    if (at.is_behind) return RankLoad{.sent = of_messages(1, n), .received = of_messages(1, n / p)};
    const double count = at.exchanges + at.followers;
    return reducing({.sent = {count, (p - 1) * n / p},
                     .received = {count, blocks_from_far<partner>(at) * n / p + at.followers * n}});
  };
  const Busiest::Link first_exchange{0, 1, n / 2};
  const Busiest::Link handed_in{1, 0, n};
  return loads_of(p, all_exchange(p) ? first_exchange : handed_in, of_rank);
}

}  // namespace

Loads halving_doubling_all_gather_loads(int p, double n) {
  return halving_all_gather_loads<algorithm::bit_partner>(p, n);
}
Loads halving_doubling_reduce_scatter_loads(int p, double n) {
  return halving_reduce_scatter_loads<algorithm::bit_partner>(p, n);
}
Loads swing_all_gather_loads(int p, double n) { return halving_all_gather_loads<algorithm::swing_partner>(p, n); }
Loads swing_reduce_scatter_loads(int p, double n) {
  return halving_reduce_scatter_loads<algorithm::swing_partner>(p, n);
}

}  // namespace lockstep
