#include "study/medium.h"

#include "base/units.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <set>
#include <utility>

namespace lockstep::study {

namespace {

constexpr std::uint64_t kSmallBytes = 64;
constexpr std::uint64_t kLargeBytes = 2 << 20;

/// alpha and beta by which a ring is predicted so at the two sizes.
FlatCost ring_of(const CostModel& model, int ranks) {
  const auto time = [&](std::uint64_t bytes) {
    const auto size = static_cast<double>(bytes);
    return CollectiveTime{"ring", size, model({.algorithm = "ring", .ranks = ranks, .bytes = size})};
  };
  return fit_ring(ranks, time(kSmallBytes), time(kLargeBytes));
}

/// By the best of several rounds, since other programs only ever add.
FlatCost measured_cost(Workbench& workbench, int ranks, int rounds, const ShapedNetwork& network) {
  std::vector<CollectiveTime> best;
  for (int round = 0; round < rounds; ++round) {
    const auto times = workbench.measure(
        {.algorithm = "ring", .ranks = ranks, .sizes = {kSmallBytes, kLargeBytes}, .min_time = "50ms"}, &network);
    if (best.empty()) best = times;
    for (std::size_t i = 0; i < best.size(); ++i) best[i].seconds = std::min(best[i].seconds, times.at(i).seconds);
  }
  return fit_ring(ranks, best.at(0), best.at(1));
}

std::string describe_rate(double bytes_per_second) {
  const double bits = 8 * bytes_per_second;
  return bits >= 1e9 ? fmt::format("{:.3g} Gbit/s", bits / 1e9) : fmt::format("{:.3g} Mbit/s", bits / 1e6);
}

}  // namespace

Medium shared_memory(Workbench& workbench, int most_ranks) {
  const auto [calibration, source] = workbench.host_calibration(most_ranks);
  Medium medium{.name = "shared memory",
                .about = {},
                .network = nullptr,
                .model = model_of(calibration),
                .links = {},
                .seen = {}};
  medium.about = fmt::format(
      "Over shared memory they come from {}: the cost of what a schedule makes the cores do, fitted to collectives "
      "alone.",
      source);
  for (int ranks = 2; ranks <= most_ranks; ++ranks) medium.links[ranks] = ring_of(medium.model, ranks);
  for (const Sample& sample : calibration.samples) medium.seen.push_back(static_cast<std::uint64_t>(sample.bytes));
  return medium;
}

Medium shaped_link(Workbench& workbench, const StudyOptions& options) {
  constexpr int kTimes = 3;  // as often as a point: all over this link is predicted by it
  Medium medium{.name = "TCP at " + describe_rate(options.bytes_per_second),
                .about = {},
                .network = nullptr,
                .model = {},
                .links = {},
                .seen = {kSmallBytes, kLargeBytes}};
  medium.network = std::make_unique<ShapedNetwork>(options.ranks, options.bytes_per_second, workbench.children());
  std::string costs;
  for (int ranks = 2; ranks <= options.ranks; ++ranks) {
    workbench.say(fmt::format("{}: alpha and beta of {} ranks", medium.name, ranks));
    const FlatCost cost = measured_cost(workbench, ranks, kTimes * options.rounds, *medium.network);
    medium.links[ranks] = cost;
    costs += fmt::format("{}alpha {} and beta {:.2f} ns a byte on {} ranks", costs.empty() ? "" : ", ",
                         format_seconds(cost.alpha_s), 1e9 * cost.beta_s, ranks);
  }
  medium.model = model_of(medium.links);
  medium.about = fmt::format(
      "Over {} they come from a ring alone at two sizes, {} and {}: {}. Each message of a schedule takes alpha + bytes "
      "times beta of its sender's card and of its receiver's.",
      medium.name, format_bytes(kSmallBytes), format_bytes(kLargeBytes), costs);
  return medium;
}

std::vector<Medium> media(Workbench& workbench, const StudyOptions& options, std::string& skipped) {
  std::vector<Medium> all;
  all.push_back(shared_memory(workbench, options.ranks));
  if (options.bytes_per_second <= 0) return all;
  try {
    all.push_back(shaped_link(workbench, options));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    skipped = error.what();
    workbench.say(skipped);
  }
  return all;
}

std::uint64_t unseen(std::uint64_t bytes, const Medium& medium) {
  const auto seen = [&](std::uint64_t elements) {
    return std::find(medium.seen.begin(), medium.seen.end(), elements * sizeof(float)) != medium.seen.end();
  };
  const std::uint64_t elements = std::max<std::uint64_t>(bytes / sizeof(float), 1);
  std::uint64_t smaller = elements, larger = elements;
  while (smaller > 0 && seen(smaller)) smaller = smaller * 3 / 4;
  while (seen(larger)) ++larger;
  return sizeof(float) * (smaller > 0 ? smaller : larger);
}

std::vector<std::uint64_t> sizes_for(int ranks, std::uint64_t gradient, const StudyOptions& options,
                                     const Medium& medium) {
  std::set<std::uint64_t> sizes{unseen(gradient, medium)};
  if (ranks == options.ranks) {
    for (const std::uint64_t size : options.sizes) sizes.insert(unseen(size, medium));
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace lockstep::study
