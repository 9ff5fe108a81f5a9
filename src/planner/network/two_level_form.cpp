#include "planner/network/two_level_form.h"

#include "base/collective.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace lockstep {

namespace {

using Form = std::function<Estimate(double ranks, double bytes, const FlatCost& cost)>;

/// What the ranks of a host do before and after those of them that take part between hosts.
struct WithinHost {
  int ranks;
  std::string_view formula;
  Form evaluate;
  LoadForm loads;
  int parts;  ///< the buffer is between hosts in so many, each of another rank of the host
};

bool is_power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

Form formula_of(std::string_view algorithm, Collective collective) {
  return find_closed_form(algorithm, collective)->evaluate;
}

Form in_turn(const Form& first, const Form& second) {
  return [=](double p, double n, const FlatCost& cost) { return first(p, n, cost) + second(p, n, cost); };
}

/// The second's link counts only where it is busier.
LoadForm in_turn(const LoadForm& first, const LoadForm& second) {
  return [=](int p, double n) {
    const Loads before = first(p, n);
    const Loads after = second(p, n);
    Busiest::Link busiest = before.busiest_link;
    take_busier(busiest, after.busiest_link);
    return loads_of(p, busiest, [=](int rank) { return before.of_rank(rank) + after.of_rank(rank); });
  };
}

WithinHost of_equal_parts(std::string_view local, int local_ranks) {
  return {.ranks = local_ranks,
          .formula = "LOCAL's reduce_scatter and all_gather of n on L ranks + GLOBAL's all_reduce of n/L on p/L",
          .evaluate = in_turn(formula_of(local, Collective::kReduceScatter), formula_of(local, Collective::kAllGather)),
          .loads = find_load_form(local, Collective::kAllReduce),
          .parts = local_ranks};
}

WithinHost of_one_rank(std::string_view local, int local_ranks) {
  return {.ranks = local_ranks,
          .formula = "LOCAL's all_reduce of n on L ranks + GLOBAL's of n on p/L",
          .evaluate = formula_of(local, Collective::kAllReduce),
          .loads = find_load_form(local, Collective::kAllReduce),
          .parts = 1};
}

/// All would have the sum at once: what makes it at one of them, which sends nothing meanwhile and then has copies for
/// the others.
WithinHost of_copies(std::string_view reduce, int local_ranks) {
  const Form to_one = [form = formula_of(reduce, Collective::kReduce)](double p, double n, const FlatCost& cost) {
    Estimate estimate = form(p, n, cost);
    estimate.most_sent_bytes = 0;
    return estimate;
  };
  return {.ranks = local_ranks,
          .formula = "a reduce of n on L ranks + GLOBAL's all_reduce of n on p/L + (L-1)(alpha + n beta)",
          .evaluate = in_turn(to_one, formula_of("star", Collective::kBroadcast)),
          .loads = in_turn(find_load_form(reduce, Collective::kReduce), find_load_form("star", Collective::kBroadcast)),
          .parts = 1};
}

/// Of what is both algorithms' own, one after the other: of blocks in lanes, else from or to one rank of each host; but
/// in a reduce by `direct` each rank of a host has a part of its sum.
std::optional<WithinHost> in_stages(std::string_view local, int local_ranks, Collective collective) {
  const bool in_lanes = !has_root(collective);
  if (find_closed_form(local, collective) == nullptr) return std::nullopt;
  if (collective == Collective::kReduce && local == "direct") return std::nullopt;
  if (in_lanes && !leaves_equal_parts(local, local_ranks)) return std::nullopt;
  return WithinHost{.ranks = local_ranks,
                    .formula = in_lanes ? "LOCAL's of n on L ranks + GLOBAL's of n/L on p/L"
                                        : "LOCAL's of n on L ranks + GLOBAL's of n on p/L",
                    .evaluate = formula_of(local, collective),
                    .loads = find_load_form(local, collective),
                    .parts = in_lanes ? local_ranks : 1};
}

bool is_all_reduce(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kBarrier;
}

std::optional<WithinHost> within_host(std::string_view local, int local_ranks, Collective collective) {
  if (!is_all_reduce(collective)) return in_stages(local, local_ranks, collective);
  if (leaves_equal_parts(local, local_ranks)) return of_equal_parts(local, local_ranks);
  if (local == "tree" || local == "star") return of_one_rank(local, local_ranks);
  if (local == "naive") return of_copies("star", local_ranks);
  if (local == "recursive_doubling" && is_power_of_two(local_ranks)) return of_copies("tree", local_ranks);
  return std::nullopt;
}

/// So many at once.
Estimate side_by_side(double groups, Estimate of_one) {
  of_one.messages *= groups;
  of_one.bytes *= groups;
  return of_one;
}

Estimate evaluate_on(const WithinHost& within, const Form& between, double hosts, double bytes, const FlatCost& cost) {
  return side_by_side(hosts, within.evaluate(within.ranks, bytes, cost)) +
         side_by_side(within.parts, between(hosts, bytes / within.parts, cost));
}

Loads loads_on(const WithinHost& within, const LoadForm& between, int hosts, double bytes) {
  const int local_ranks = within.ranks;
  const Loads of_host = within.loads(local_ranks, bytes);
  const Loads of_part = between(hosts, bytes / within.parts);
  const auto [from_host, to_host, part_bytes] = of_part.busiest_link;
  Busiest::Link busiest = of_host.busiest_link;
  take_busier(busiest, {from_host * local_ranks, to_host * local_ranks, part_bytes});
  return loads_of(hosts * local_ranks, busiest, [=, parts = within.parts](int rank) {
    const int place = rank % local_ranks;
    const RankLoad here = of_host.of_rank(place);
    return place < parts ? here + of_part.of_rank(rank / local_ranks) : here;
  });
}

/// By one of the hosts' first ranks, which take part in both stages, or by another of a host.
double most_sent_from_a_root(const WithinHost& within, const LoadForm& between, int hosts, double bytes) {
  const Loads of_host = within.loads(within.ranks, bytes);
  const Loads of_hosts = between(hosts, bytes);
  double most = 0;
  for (int place = 1; place < within.ranks; ++place) most = std::max(most, of_host.of_rank(place).sent.bytes);
  const double first = of_host.of_rank(0).sent.bytes;
  for (int host = 0; host < hosts; ++host) most = std::max(most, first + of_hosts.of_rank(host).sent.bytes);
  return most;
}

}  // namespace

bool leaves_equal_parts(std::string_view local, int local_ranks) {
  constexpr std::array<std::string_view, 4> kOfAnyRanks{"ring", "bidirectional_ring", "direct", "circulant"};
  if (std::find(kOfAnyRanks.begin(), kOfAnyRanks.end(), local) != kOfAnyRanks.end()) return true;
  return (local == "halving_doubling" || local == "swing") && is_power_of_two(local_ranks);
}

std::optional<ClosedForm> two_level_form(std::string_view local, std::string_view global, int local_ranks,
                                         Collective collective) {
  const Collective of_parts = is_all_reduce(collective) ? Collective::kAllReduce : collective;
  const ClosedForm* on_one_host = find_closed_form(local, of_parts);
  const ClosedForm* between = find_closed_form(global, of_parts);
  const auto within = within_host(local, local_ranks, collective);
  if (on_one_host == nullptr || between == nullptr || !within) return std::nullopt;
  const double share = collective == Collective::kBarrier ? 0 : 1;
  return ClosedForm{
      .algorithm = "hierarchical",
      .collective = collective,
      .formula = within->formula,
      .source = "Cho et al., BlueConnect, SysML 2019",
      .evaluate =
          [=, within = *within](double p, double n, const FlatCost& cost) {
            const double hosts = p / local_ranks;
            if (hosts == 1) return on_one_host->evaluate(p, share * n, cost);
            Estimate estimate = evaluate_on(within, between->evaluate, hosts, share * n, cost);
            if (has_root(collective)) {
              estimate.most_sent_bytes = most_sent_from_a_root(within, between->loads, static_cast<int>(hosts), n);
            }
            return estimate;
          },
      .loads =
          [=, within = *within](int p, double n) {
            const int hosts = p / local_ranks;
            return hosts == 1 ? on_one_host->loads(p, share * n) : loads_on(within, between->loads, hosts, share * n);
          }};
}

}  // namespace lockstep
