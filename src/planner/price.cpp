#include "planner/price.h"

#include "algorithms/catalog.h"
#include "base/units.h"
#include "schedule/segmented.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace lockstep {

namespace {

/// Up to this many ranks a schedule is built to see how long it is; beyond, its length is continued from here.
constexpr int kRanksBuiltToMeasure = 64;

double transfers_of(std::string_view algorithm, Collective collective, int ranks) {
  double transfers = 0;
  for (const Step& step : find_algorithm(algorithm).build({.collective = collective, .ranks = ranks}).steps) {
    transfers += static_cast<double>(step.size());
  }
  return transfers;
}

std::vector<LinkUse> link_uses(const Simulation& simulation, const Wiring& wiring) {
  std::map<Wiring::Kind, std::pair<LinkUse, int>> by_kind;  // with the number of links
  for (int i = 0; i < static_cast<int>(wiring.resources().size()); ++i) {
    const Wiring::Kind kind = wiring.resources()[static_cast<std::size_t>(i)].kind;
    auto& [use, links] = by_kind.try_emplace(kind, LinkUse{.kind = kind, .busiest = {}}, 0).first->second;
    const double share = simulation.use_of(i);
    use.mean += share;
    ++links;
    if (share > use.most * (1 + 1e-9)) {
      use.most = share;
      use.busiest = wiring.name_of(i);
    }
  }
  std::vector<LinkUse> uses;
  for (auto& [kind, entry] : by_kind) {
    entry.first.mean /= entry.second;
    if (entry.first.most > 0) uses.push_back(std::move(entry.first));
  }
  return uses;
}

std::vector<NamedUse> named_uses(const Simulation& simulation, const Wiring& wiring) {
  std::vector<NamedUse> uses;
  for (int i = 0; i < static_cast<int>(wiring.resources().size()); ++i) {
    if (simulation.use_of(i) <= 0) continue;
    if (uses.size() == kMostNamedLinks) return {};
    uses.push_back({wiring.name_of(i), simulation.use_of(i)});
  }
  return uses;
}

}  // namespace

NetworkDescription PricedNetwork::of(int ranks) const {
  return description ? first_ranks(*description, ranks) : flat_network(ranks, flat.value_or(FlatCost{}));
}

std::vector<int> PricedNetwork::hosts_of(int ranks) const {
  return description ? host_of_each_rank(first_ranks(*description, ranks)) : std::vector<int>();
}

std::string_view to_string(Price::Source source) {
  switch (source) {
    case Price::Source::kSimulated: return "simulated";
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

const ClosedForm* closed_form_for(std::string_view algorithm, const PriceRequest& request,
                                  const PricedNetwork& network) {
  if (!network.flat || request.segments > 1) return nullptr;
  return find_closed_form(algorithm, request.collective);
}

double estimated_transfers(std::string_view algorithm, const PriceRequest& request) {
  return request.segments * estimated_transfers(algorithm, request.collective, request.ranks);
}

double estimated_transfers(std::string_view algorithm, Collective collective, int ranks) {
  if (ranks <= kRanksBuiltToMeasure) return transfers_of(algorithm, collective, ranks);
  // Lengths of schedules are about a power of the ranks: p log p, p^2 and so on.
  const double here = transfers_of(algorithm, collective, kRanksBuiltToMeasure);
  const double before = transfers_of(algorithm, collective, kRanksBuiltToMeasure / 2);
  const double power = before > 0 ? std::log2(here / before) : 0;
  return here * std::pow(static_cast<double>(ranks) / kRanksBuiltToMeasure, power);
}

Price price_schedule(const Schedule& schedule, double bytes, const Wiring& wiring) {
  const Simulation simulation = simulate(schedule, bytes, wiring);
  Price price{.algorithm = schedule.name,
              .source = Price::Source::kSimulated,
              .note = {},
              .estimate = {},
              .counts = count(schedule, bytes),
              .links = link_uses(simulation, wiring),
              .each_link = named_uses(simulation, wiring)};
  price.estimate = {.seconds = simulation.seconds,
                    .steps = static_cast<double>(price.counts->steps),
                    .messages = static_cast<double>(price.counts->messages),
                    .bytes = price.counts->bytes,
                    .most_sent_bytes = price.counts->most_sent_bytes};
  return price;
}

Price price_algorithm(std::string_view algorithm, const PriceRequest& request, const PricedNetwork& network) {
  const double transfers = estimated_transfers(algorithm, request);
  if (transfers <= request.most_transfers) {
    const Schedule schedule = schedule_for(algorithm, request, network.hosts_of(request.ranks));
    Price price = price_schedule(schedule, request.bytes, Wiring(network.of(request.ranks)));
    price.algorithm = algorithm;
    return price;
  }
  Price price{
      .algorithm = std::string(algorithm), .note = {}, .estimate = {}, .counts = {}, .links = {}, .each_link = {}};
  if (const ClosedForm* form = closed_form_for(algorithm, request, network)) {
    price.source = Price::Source::kClosedForm;
    price.note = fmt::format("{} ({})", form->formula, form->source);
    price.estimate = form->evaluate(request.ranks, request.bytes, *network.flat);
  } else {
    const char* why = "is known";
    if (find_closed_form(algorithm, request.collective) != nullptr) {
      why = network.flat ? "holds for a pipeline" : "holds on a network that is not flat";
    }
    price.note = fmt::format("about {} transfers, too many to simulate, and no closed form {}",
                             format_count(static_cast<std::uint64_t>(transfers)), why);
  }
  return price;
}

}  // namespace lockstep
