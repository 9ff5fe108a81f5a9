#include "planner/pricing/price.h"

#include "algorithms/catalog.h"
#include "base/collective.h"
#include "base/index.h"
#include "base/units.h"
#include "planner/calibration/calibrated_timing.h"
#include "planner/network/two_level_form.h"
#include "schedule/promise.h"
#include "schedule/ranges.h"
#include "schedule/relabelled.h"
#include "schedule/segmented.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace lockstep {

namespace {

/// Up to this many ranks a schedule is built to see how long it is; beyond, its length is continued from there.
constexpr int kRanksBuiltToMeasure = 64;

/// How long a schedule is, and in how many chunks.
struct Length {
  double transfers = 0;
  double chunks = 1;
};

Length built_length(std::string_view algorithm, Collective collective, int ranks) {
  const Schedule schedule = find_algorithm(algorithm).build({.collective = collective, .ranks = ranks});
  return {.transfers = static_cast<double>(transfers_of(schedule)), .chunks = static_cast<double>(schedule.chunks)};
}

/// What is so much on m, 2m and 4m ranks, on 2^doublings m. Lengths of schedules are sums of p^k, p^k log p and
/// p^(k-1), of which three values tell each one's part.
double continued(const std::array<double, 3>& values, int doublings) {
  if (values[2] == 0) return 0;
  const double doubled = std::exp2(std::round(std::log2(values[2] / values[1])));  // 2^k
  const double second = values[1] / doubled;
  const double third = values[2] / (doubled * doubled);
  const double lower = 4 * (third - 2 * second + values[0]);
  const double highest = values[0] - lower;
  const double with_logarithm = second - highest - lower / 2;
  return std::pow(doubled, doublings) * (highest + with_logarithm * doublings) +
         std::pow(doubled / 2, doublings) * lower;
}

Length continued_length(std::string_view algorithm, Collective collective, int ranks, int doublings) {
  std::array<double, 3> transfers{};
  std::array<double, 3> chunks{};
  for (int i = 0; i < 3; ++i) {
    const Length built = built_length(algorithm, collective, ranks << i);
    transfers[at(i)] = built.transfers;
    chunks[at(i)] = built.chunks;
  }
  return {continued(transfers, doublings), continued(chunks, doublings)};
}

/// Between two powers of two, at which some algorithms' jump, lengths are polynomials of the second degree, at most.
Length estimated_length(std::string_view algorithm, Collective collective, int ranks) {
  if (ranks <= kRanksBuiltToMeasure) return built_length(algorithm, collective, ranks);
  constexpr int kPower = kRanksBuiltToMeasure / 8;
  constexpr std::array<int, 3> kBetween{kPower + 1, kPower * 3 / 2, 2 * kPower - 1};
  const int doublings = std::bit_width(static_cast<unsigned>(ranks / kPower)) - 1;
  if (kPower << doublings == ranks) return continued_length(algorithm, collective, kPower, doublings);
  const double place = std::ldexp(ranks, -doublings);
  Length length{.chunks = 0};
  for (const int one : kBetween) {
    double share = 1;  // Lagrange's
    for (const int other : kBetween) share *= one == other ? 1 : (place - other) / (one - other);
    const Length there = continued_length(algorithm, collective, one, doublings);
    length.transfers += share * there.transfers;
    length.chunks += share * there.chunks;
  }
  return length;
}

/// The chunks of a composition (algorithms/hierarchical.cpp), as the parts' schedules are put together one by one.
class ComposedChunks {
 public:
  ComposedChunks(Collective collective, int ranks)
      : collective_(collective), ranks_(ranks), most_(most_chunks_on_hosts(ranks)) {}

  /// That of the hosts. Of an all_reduce each slice of theirs is cut into its chunks, of others both are cut alike.
  void add_between(const Length& length, int hosts) {
    if (is_all_reduce()) {
      in_each_ = std::llround(length.chunks);
    } else {
      add_within(length, hosts);
    }
  }
  /// That of a host with so many ranks.
  void add_within(const Length& length, int ranks) {
    const std::int64_t of_one = in_blocks() ? std::llround(length.chunks) / ranks : std::llround(length.chunks);
    common_ = std::lcm(common_, of_one);
  }

  std::int64_t number() const { return common_ * in_each_ * (in_blocks() ? ranks_ : 1); }
  bool are_too_many() const { return number() > most_; }

 private:
  bool is_all_reduce() const { return collective_ == Collective::kAllReduce || collective_ == Collective::kBarrier; }
  bool in_blocks() const { return collective_ == Collective::kReduceScatter || collective_ == Collective::kAllGather; }

  Collective collective_;
  int ranks_;
  std::int64_t most_;
  std::int64_t common_ = 1;
  std::int64_t in_each_ = 1;
};

/// Each chunk takes what it takes in the hosts' schedules and in the one between them. Infinite where there would be
/// more than are made.
double composed_transfers(const Composition& parts, const ScheduleRequest& request) {
  std::map<int, int> size_of_host;
  for (const int host : request.hosts) ++size_of_host[host];
  if (request.hosts.empty()) size_of_host[0] = request.ranks;
  const Collective of_parts = request.collective == Collective::kBarrier ? Collective::kAllReduce : request.collective;
  const auto hosts = static_cast<int>(size_of_host.size());
  ComposedChunks chunks(request.collective, request.ranks);
  const Length between = estimated_length(parts.global, of_parts, hosts);
  chunks.add_between(between, hosts);
  double of_each = between.transfers / std::round(between.chunks);
  std::map<int, Length> of_size;
  for (const auto& [host, size] : size_of_host) {
    const auto [length, is_new] = of_size.try_emplace(size);
    if (is_new) {
      length->second = estimated_length(parts.local, of_parts, size);
      chunks.add_within(length->second, size);
      if (chunks.are_too_many()) return std::numeric_limits<double>::infinity();
    }
    of_each += length->second.transfers / length->second.chunks;
  }
  return of_each * static_cast<double>(chunks.number());
}

}  // namespace

NetworkDescription PricedNetwork::of(int ranks) const {
  return description ? first_ranks(*description, ranks) : flat_network(ranks, flat.value_or(FlatCost{}));
}

std::vector<int> PricedNetwork::hosts_of(int ranks) const {
  if (description) return host_of_each_rank(*description, ranks);
  return local_size ? hosts_of_neighbours(ranks, *local_size) : std::vector<int>();
}

std::string_view to_string(Price::Source source) {
  switch (source) {
    case Price::Source::kSimulated: return "simulated";
    case Price::Source::kCalibrated: return "calibrated";
    case Price::Source::kClosedForm: return "closed form";
    case Price::Source::kNone: return "none";
  }
  return "unknown";
}

std::string_view to_string(Wiring::Kind kind) {
  switch (kind) {
    case Wiring::Kind::kCore: return "core";
    case Wiring::Kind::kMemory: return "memory";
    case Wiring::Kind::kSocketLink: return "sockets";
    case Wiring::Kind::kNicOut: return "out";
    case Wiring::Kind::kNicIn: return "in";
    case Wiring::Kind::kRackUp: return "rack up";
    case Wiring::Kind::kRackDown: return "rack down";
  }
  return "unknown";
}

Schedule schedule_for(std::string_view algorithm, const PriceRequest& request, std::vector<int> hosts) {
  const Schedule schedule = find_algorithm(algorithm).build(
      {.collective = request.collective, .ranks = request.ranks, .root = request.root, .hosts = std::move(hosts)});
  return segmented(schedule, request.segments);
}

std::optional<ClosedForm> closed_form_for(std::string_view algorithm, const PriceRequest& request,
                                          const PricedNetwork& network) {
  if (!network.flat || request.segments > 1) return std::nullopt;
  if (const auto pipeline = pipeline_of(algorithm)) {
    return pipeline->segments == 1 ? closed_form_for(pipeline->algorithm, request, network) : std::nullopt;
  }
  if (const auto parts = composition_of(algorithm)) {
    if (!network.local_size) return std::nullopt;
    const bool fills_hosts = request.ranks >= *network.local_size && request.ranks % *network.local_size == 0;
    const bool has_first_root = !has_root(request.collective) || request.root % *network.local_size == 0;
    return fills_hosts && has_first_root
               ? two_level_form(parts->local, parts->global, *network.local_size, request.collective)
               : std::nullopt;
  }
  const ClosedForm* form = find_closed_form(algorithm, request.collective);
  return form != nullptr ? std::optional(*form) : std::nullopt;
}

double estimated_transfers(std::string_view algorithm, const PriceRequest& request, const PricedNetwork& network) {
  return request.segments * estimated_transfers(algorithm, ScheduleRequest{.collective = request.collective,
                                                                           .ranks = request.ranks,
                                                                           .hosts = network.hosts_of(request.ranks)});
}

double estimated_transfers(std::string_view algorithm, const ScheduleRequest& request) {
  if (const auto pipeline = pipeline_of(algorithm)) {
    return pipeline->segments * estimated_transfers(pipeline->algorithm, request);
  }
  if (const auto parts = composition_of(algorithm)) return composed_transfers(*parts, request);
  return estimated_transfers(algorithm, request.collective, request.ranks);
}

double estimated_transfers(std::string_view algorithm, Collective collective, int ranks) {
  return estimated_length(algorithm, collective, ranks).transfers;
}

namespace {

/// Bytes that a barrier is asked for do not move.
double moved_bytes(Collective collective, double bytes) { return collective == Collective::kBarrier ? 0 : bytes; }

std::function<std::optional<double>(double bytes)> timing_of_moved(const Schedule& schedule,
                                                                   const PricedNetwork& network, Effort* left) {
  if (const auto calibration = network.calibration) {
    return [timing = CalibratedTiming(*calibration, network.medium, schedule)](double bytes) {
      return timing.seconds({bytes});
    };
  }
  return [=, wiring = Wiring(network.of(schedule.ranks))](double bytes) -> std::optional<double> {
    Effort unbounded;
    const auto simulation = simulate_within(left == nullptr ? unbounded : *left, schedule, bytes, wiring);
    return simulation ? std::optional(simulation->seconds) : std::nullopt;
  };
}

}  // namespace

std::function<std::optional<double>(double bytes)> timing(const Schedule& schedule, const PricedNetwork& network,
                                                          Effort* left) {
  return [seconds = timing_of_moved(schedule, network, left), collective = schedule.collective](double bytes) {
    return seconds(moved_bytes(collective, bytes));
  };
}

std::optional<Price> price_schedule(const Schedule& schedule, double asked_bytes, const PricedNetwork& network,
                                    const Effort& most) {
  const double bytes = moved_bytes(schedule.collective, asked_bytes);
  Price price{.algorithm = schedule.name,
              .source = Price::Source::kCalibrated,
              .note = {},
              .estimate = {},
              .busiest = {},
              .counts = count(schedule, bytes),
              .links = {}};
  price.busiest = price.counts->busiest;
  price.estimate = {.steps = static_cast<double>(price.counts->steps),
                    .messages = static_cast<double>(price.counts->messages),
                    .bytes = price.counts->bytes,
                    .most_sent_bytes = price.counts->most_sent_bytes};
  if (network.calibration) {
    price.estimate.seconds = timing(schedule, network)(bytes).value();
    return price;
  }
  const Wiring wiring(network.of(schedule.ranks));
  Effort left = most;
  const auto simulation = simulate_within(left, schedule, bytes, wiring);
  if (!simulation) return std::nullopt;
  price.source = Price::Source::kSimulated;
  price.estimate.seconds = simulation->seconds;
  price.links = link_uses(*simulation, wiring);
  return price;
}

namespace {

Price price_by_form(const ClosedForm& form, std::string_view algorithm, const PriceRequest& request,
                    const FlatCost& cost) {
  // Papers of reductions say nothing of barriers, which are their reductions of nothing.
  const bool is_of_nothing =
      form.collective == Collective::kBarrier && find_algorithm(algorithm).supports(Collective::kAllReduce);
  Price price{.algorithm = std::string(algorithm),
              .source = Price::Source::kClosedForm,
              .note = fmt::format("{} ({}{})", form.formula, form.source, is_of_nothing ? ", of nothing" : ""),
              .estimate = form.evaluate(request.ranks, request.bytes, cost),
              .busiest = {},
              .counts = {},
              .links = {}};
  Loads loads = form.loads(request.ranks, request.bytes);
  if (has_root(request.collective)) loads = rooted_at(request.root, request.ranks, loads);
  price.busiest = busiest_of(loads, request.ranks);
  price.links = link_uses(loads, request.ranks, cost, price.estimate.seconds);
  return price;
}

std::string why_none(std::string_view algorithm, const PriceRequest& request, const PricedNetwork& network,
                     double transfers) {
  if (std::isinf(transfers)) {
    return "the hosts' numbers of ranks share no chunks that fit them all; use as many ranks on each host";
  }
  const bool is_many = transfers > request.most_transfers;
  const char* why = network.calibration ? "follows a calibration" : "is known";
  const auto pipeline = pipeline_of(algorithm);
  const std::string_view uncut = pipeline ? std::string_view(pipeline->algorithm) : algorithm;
  if (!network.calibration && find_closed_form(uncut, request.collective) != nullptr) {
    why = network.flat ? "holds for a pipeline" : "holds on a network that is not flat";
  }
  constexpr double kCountable = 1e18;
  const std::string number =
      transfers < kCountable ? "about " + format_count(static_cast<std::uint64_t>(transfers)) : "more than 10^18";
  return fmt::format("{} transfers, too {} to simulate{}, and no closed form {}", number,
                     is_many ? "many" : "much work", is_many ? "" : " on this network", why);
}

}  // namespace

Price price_algorithm(std::string_view algorithm, const PriceRequest& request, const PricedNetwork& network) {
  const double transfers = estimated_transfers(algorithm, request, network);
  if (transfers <= request.most_transfers) {
    const Schedule schedule = schedule_for(algorithm, request, network.hosts_of(request.ranks));
    if (auto price = price_schedule(schedule, request.bytes, network, request.most_effort)) {
      price->algorithm = algorithm;
      return std::move(*price);
    }
  }
  if (const auto form = closed_form_for(algorithm, request, network)) {
    return price_by_form(*form, algorithm, request, *network.flat);
  }
  return {.algorithm = std::string(algorithm),
          .note = why_none(algorithm, request, network, transfers),
          .estimate = {},
          .busiest = {},
          .counts = {},
          .links = {}};
}

}  // namespace lockstep
