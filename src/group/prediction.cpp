#include "algorithms/catalog.h"
#include "base/refuse.h"
#include "group/opened.h"
#include "planner/calibration/calibrated_timing.h"
#include "planner/network/pipelined.h"
#include "schedule/relabelled.h"

#include <fmt/format.h>
#include <lockstep/prediction.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace lockstep {

namespace {

/// Of more, simulating one takes longer than a tenth of a second.
constexpr std::int64_t kMostPricedTransfers = 20'000;

/// What a group's predictions are made of, kept from one to the next.
struct Predictions {
  std::optional<Link> link;
  double touched_between = 0;  ///< as in HostOperation
  std::map<std::pair<std::string, Collective>, CalibratedTiming> timings;
  std::map<std::pair<std::string, Collective>, std::optional<Schedule>> priced;  ///< none: too large
};

/// What is to be predicted.
struct Question {
  std::string algorithm;
  Collective collective;
  double bytes;
  int root = 0;
};

/// By the link that was given.
std::optional<double> seconds_by_link(Predictions& known, detail::GroupState& state, const Question& asked) {
  const std::pair key{asked.algorithm, asked.collective};
  auto found = known.priced.find(key);
  if (found == known.priced.end()) {
    auto whole =
        state.schedules().whole_of_at_most(kMostPricedTransfers, asked.algorithm, asked.collective, asked.root);
    found = known.priced.emplace(key, std::move(whole)).first;
  }
  if (!found->second) return std::nullopt;
  const Schedule& schedule = *found->second;
  const Link& link = *known.link;
  const Wiring wiring(flat_network(schedule.ranks, {.alpha_s = link.alpha_s, .beta_s = link.beta_s}));
  return pipelined_seconds(schedule, asked.bytes, wiring);
}

/// By the calibration that the group follows. Plans are kept by the algorithm's name.
std::optional<double> calibrated_seconds(Predictions& known, detail::GroupState& state, const Question& asked) {
  const auto& calibration = state.calibration().calibration;
  const int ranks = state.identity().size;
  if (!calibration || ranks > kMostSelectedRanks) return std::nullopt;
  const Medium medium = state.engine().medium();
  const bool one_host = ranks_of_hosts(state.identity().hosts).size() < 2;
  if (medium == Medium::kMpi) return std::nullopt;
  if (medium == Medium::kTcp && (!one_host || !calibration->tcp.model.knows(ranks))) return std::nullopt;
  const std::pair key{asked.algorithm, asked.collective};
  auto timing = known.timings.find(key);
  if (timing == known.timings.end()) {
    Schedule schedule = state.schedules().whole(asked.algorithm, asked.collective, asked.root);
    timing = known.timings.emplace(key, CalibratedTiming(*calibration, medium, std::move(schedule))).first;
  }
  return timing->second.seconds({asked.bytes, known.touched_between});
}

}  // namespace

std::optional<double> predicted_ms(const Group& group, Collective collective, std::size_t bytes,
                                   const OperationOptions& options, DataType dtype) {
  Question asked{group.algorithm_for(collective, bytes, options, dtype), collective, static_cast<double>(bytes)};
  if (group.size() == 1 || asked.algorithm == kVendor) return std::nullopt;
  auto& known = group.attribute<Predictions>();
  auto& state = detail::Opened(group).state();
  asked.root = state.schedules().root_of(asked.algorithm);
  const auto seconds = known.link ? seconds_by_link(known, state, asked) : calibrated_seconds(known, state, asked);
  return seconds ? std::optional(1000 * *seconds) : std::nullopt;
}

std::optional<Link> given_link(const Group& group) { return group.attribute<Predictions>().link; }

void predict_in_training(const Group& group, std::size_t model_bytes) {
  group.attribute<Predictions>().touched_between = kTouchedPerModelByte * static_cast<double>(model_bytes);
}

void predict_by(const Group& group, const Link& link) {
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds >= 0; };
  if (!is_time(link.alpha_s) || !is_time(link.beta_s)) {
    refuse(fmt::format("A link of alpha {} s and beta {} s a byte cannot be; both are from 0 up.", link.alpha_s,
                       link.beta_s));
  }
  group.attribute<Predictions>().link = link;
}

}  // namespace lockstep
