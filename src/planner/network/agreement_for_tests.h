#pragma once

#include "planner/network/closed_form.h"
#include "planner/network/count.h"
#include "planner/network/simulate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::testing_support {

inline constexpr FlatCost kCosts[] = {
    {.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 1e-10},
    {.alpha_s = 1e-6, .beta_s = 8e-11, .gamma_s = 0},
    {.alpha_s = 0, .beta_s = 1e-9, .gamma_s = 2e-10},
};

inline void expect_within_one_percent(double expected, double actual, const std::string& what) {
  EXPECT_NEAR(actual, expected, 0.01 * expected) << what;
}

/// What the form says is what the schedule takes if it is simulated, and has if it is counted.
inline void expect_agreement(const ClosedForm& form, const Schedule& schedule) {
  const int ranks = schedule.ranks;
  for (const FlatCost& cost : kCosts) {
    const Wiring wiring(flat_network(ranks, cost));
    for (const double asked : {1.0, 1024.0, 1e6, 1e9}) {
      const double bytes = form.collective == Collective::kBarrier ? 0 : asked;  // of a barrier the form takes any
      const std::string what = fmt::format("{} {} on {} ranks, {} bytes, alpha {}", schedule.name,
                                           to_string(form.collective), ranks, bytes, cost.alpha_s);
      const Estimate estimate = form.evaluate(ranks, asked, cost);
      expect_within_one_percent(estimate.seconds, simulate(schedule, bytes, wiring).seconds, what);
      const Counts counts = count(schedule, bytes);
      EXPECT_EQ(estimate.steps, static_cast<double>(counts.steps)) << what;
      EXPECT_EQ(estimate.messages, static_cast<double>(counts.messages)) << what;
      expect_within_one_percent(estimate.bytes, counts.bytes, what);
      expect_within_one_percent(estimate.most_sent_bytes, counts.most_sent_bytes, what);
    }
  }
}

inline void expect_same(double expected, double actual, const std::string& what) {
  EXPECT_NEAR(actual, expected, 1e-9 * (1 + expected)) << what;
}

/// What each rank sends and receives in the schedule, in messages and bytes.
inline std::vector<RankLoad> counted_loads(const Schedule& schedule, const Counts& counts) {
  std::vector<RankLoad> loads;
  for (const auto& [sent, received, reduced] : counts.by_rank) {
    loads.push_back({.sent = {0, sent}, .received = {0, received}, .reduced_bytes = reduced});
  }
  for (const Message& message : messages_of(schedule)) {
    ++loads[static_cast<std::size_t>(message.from)].sent.messages;
    ++loads[static_cast<std::size_t>(message.to)].received.messages;
  }
  return loads;
}

inline void expect_every_rank(const Loads& loads, const std::vector<RankLoad>& counted, const std::string& what) {
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const auto rank = static_cast<int>(i);
    const RankLoad load = loads.of_rank(rank);
    const std::string which = fmt::format("{}, rank {}", what, rank);
    EXPECT_EQ(load.sent.messages, counted[i].sent.messages) << which;
    EXPECT_EQ(load.received.messages, counted[i].received.messages) << which;
    expect_same(counted[i].sent.bytes, load.sent.bytes, which + " sends");
    expect_same(counted[i].received.bytes, load.received.bytes, which + " receives");
    expect_same(counted[i].reduced_bytes, load.reduced_bytes, which + " reduces");
  }
}

/// The busiest rank, link and their bytes, of several the lowest.
inline void expect_busiest(const Busiest& counted, const Busiest& told, const std::string& what) {
  EXPECT_EQ(told.rank, counted.rank) << what;
  expect_same(counted.sent_bytes, told.sent_bytes, what);
  expect_same(counted.received_bytes, told.received_bytes, what);
  EXPECT_EQ(told.link.from, counted.link.from) << what;
  EXPECT_EQ(told.link.to, counted.link.to) << what;
  expect_same(counted.link.bytes, told.link.bytes, what + ", its busiest link");
}

/// What the form says of each rank is what the schedule has it do.
inline void expect_counted(const LoadForm& form, const Schedule& schedule) {
  for (const double asked : {1.0, 1e6}) {
    const double bytes = schedule.collective == Collective::kBarrier ? 0 : asked;  // of a barrier the form takes any
    const std::string what =
        fmt::format("{} {} on {} ranks", schedule.name, to_string(schedule.collective), schedule.ranks);
    const Loads loads = form(schedule.ranks, asked);
    const Counts counts = count(schedule, bytes);
    expect_every_rank(loads, counted_loads(schedule, counts), what);
    expect_busiest(counts.busiest, busiest_of(loads, schedule.ranks), what);
  }
}

}  // namespace lockstep::testing_support
