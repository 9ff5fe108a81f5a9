#include "planner/one_host/tcp_turns.h"

#include "algorithms/catalog.h"
#include "base/index.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep {

namespace {

constexpr double kBytes = 4096;

TcpCosts by_hand(double message_s, double byte_s) {
  TcpCosts seconds;
  seconds[TcpCost::kOperation] = 1e-9;
  seconds[TcpCost::kMessage] = message_s;
  seconds[TcpCost::kByte] = byte_s;
  return seconds;
}

struct Case {
  int cores = 1;
  int parts = 1;
  int empty_chunks = 0;  ///< from the second on
};

constexpr Length kSteadyTcp{.starting = 2, .counted = 4};

/// What an operation costs whose chunks have so many bytes each.
TcpCosts run(const Schedule& schedule, const TcpCosts& seconds, const Case& of, const Length& length = kSteadyTcp) {
  std::vector<MessagePlan> plans;
  for (int rank = 0; rank < schedule.ranks; ++rank) plans.push_back(make_message_plan(schedule, rank));
  std::vector<double> chunks(at(schedule.chunks), kBytes);
  std::fill_n(chunks.begin() + 1, of.empty_chunks, 0.0);
  const TcpTurns::Host host{.cores = of.cores, .parts = of.parts, .bytes = kBytes, .bytes_at_once = kBytes};
  return TcpTurns(plans, chunks, host, seconds).run(length);
}

Schedule schedule_of(const char* algorithm, int ranks, Collective collective = Collective::kAllReduce) {
  return find_algorithm(algorithm).build({.collective = collective, .ranks = ranks});
}

}  // namespace

/// Nothing happens beside anything else: 4 ranks that send all to the 3 others.
TEST(TcpTurns, OneCoreDoesAllThatTheScheduleHas) {
  const TcpCosts costs = run(schedule_of("naive", 4), by_hand(1e-6, 1e-9), {});
  EXPECT_DOUBLE_EQ(costs[TcpCost::kOperation], 4);
  EXPECT_DOUBLE_EQ(costs[TcpCost::kMessage], 12);
  EXPECT_DOUBLE_EQ(costs[TcpCost::kByte], 12 * kBytes);
  EXPECT_DOUBLE_EQ(costs[TcpCost::kReducedByte], 12 * kBytes);
  EXPECT_EQ(costs[TcpCost::kCrossing], 0);
}

/// There and back: what the other does meanwhile is waiting.
TEST(TcpTurns, TheLongestChainCounts) {
  const TcpCosts costs = run(schedule_of("star", 2), by_hand(1e-6, 1e-9), {.cores = 2});
  EXPECT_DOUBLE_EQ(costs[TcpCost::kMessage], 2);
  EXPECT_DOUBLE_EQ(costs[TcpCost::kCrossing], 2);
  EXPECT_DOUBLE_EQ(costs[TcpCost::kByte], 2 * kBytes);
  EXPECT_DOUBLE_EQ(costs[TcpCost::kReducedByte], kBytes);
}

TEST(TcpTurns, TwoRanksThatExchangeDoItAtOnce) {
  const TcpCosts costs = run(schedule_of("recursive_doubling", 2), by_hand(1e-6, 1e-9), {.cores = 2});
  EXPECT_NEAR(costs[TcpCost::kMessage], 1, 1e-9);
  EXPECT_NEAR(costs[TcpCost::kByte], kBytes, 1e-6);
}

/// Who answers sends while the other waits, and goes on while that receives; who exchanges finds the other at work all
/// the time, if that has a core of its own.
TEST(TcpTurns, WhatCoresDoAtOnceIsContended) {
  const TcpCosts seconds = by_hand(1e-6, 1e-9);
  const TcpCosts answered = run(schedule_of("star", 2), seconds, {.cores = 2});
  EXPECT_DOUBLE_EQ(answered[TcpCost::kContendedMessage], 0);
  EXPECT_DOUBLE_EQ(answered[TcpCost::kContendedByte], 0.5 * answered[TcpCost::kByte]);
  const TcpCosts exchanged = run(schedule_of("recursive_doubling", 2), seconds, {.cores = 2});
  EXPECT_NEAR(exchanged[TcpCost::kContendedMessage], exchanged[TcpCost::kMessage], 1e-9);
  EXPECT_NEAR(exchanged[TcpCost::kContendedByte], exchanged[TcpCost::kByte], 1e-6);
  const TcpCosts on_one = run(schedule_of("recursive_doubling", 2), seconds, {.cores = 1});
  EXPECT_EQ(on_one[TcpCost::kContendedMessage], 0);
}

/// Of a stream without bytes the announcement is sent, once.
TEST(TcpTurns, ChunksWithoutBytesSendNothing) {
  const Schedule ring = schedule_of("ring", 4);
  const TcpCosts full = run(ring, by_hand(1e-6, 0), {});
  const TcpCosts one = run(ring, by_hand(1e-6, 0), {.empty_chunks = 3});
  EXPECT_DOUBLE_EQ(full[TcpCost::kByte], 24 * kBytes);
  EXPECT_DOUBLE_EQ(one[TcpCost::kByte], 6 * kBytes);
  EXPECT_LE(one[TcpCost::kMessage], 6);
  EXPECT_GE(one[TcpCost::kMessage], 4);
  const TcpCosts none = run(schedule_of("naive", 3), by_hand(1e-6, 0), {.empty_chunks = 0});
  EXPECT_DOUBLE_EQ(none[TcpCost::kMessage], 6);
}

/// Up a tree and down, a part follows the other: of whole chunks a sum waits for four, one after the other.
TEST(TcpTurns, PartsAreHandedOnWhileOthersCome) {
  const TcpCosts seconds = by_hand(0, 1e-9);
  const auto seconds_of = [&](int parts) {
    return run(schedule_of("tree", 4), seconds, {.cores = 4, .parts = parts}) * seconds;
  };
  EXPECT_LT(seconds_of(8), 0.7 * seconds_of(1));
}

/// Down a tree of 4 ranks the root sends twice, and is an operation ahead of the last leaf; alone, one takes all the
/// way: both of the root's, and what an inner rank receives, sends and its leaf receives.
TEST(TcpTurns, WhatBeginsAtABarrierOverlapsOnlyItsLikes) {
  const Schedule tree = schedule_of("tree", 4, Collective::kBroadcast);
  const auto messages = [&](const Length& length) {
    return run(tree, by_hand(1e-6, 0), {.cores = 4}, length)[TcpCost::kMessage];
  };
  const auto from_barrier = [&](int batch) {
    return messages({.starting = 1, .counted = batch, .from_barrier = true});
  };
  EXPECT_DOUBLE_EQ(messages(kSteadyTcp), 1);
  EXPECT_DOUBLE_EQ(from_barrier(1), 2.5);
  EXPECT_DOUBLE_EQ(from_barrier(4), 5.5 / 4);
}

/// Who has nothing to do but wait costs its core a look at the other one.
TEST(TcpTurns, RanksOfACoreTakeTurns) {
  TcpCosts seconds = by_hand(1e-6, 0);
  seconds[TcpCost::kSwitch] = 1e-7;
  EXPECT_EQ(run(schedule_of("naive", 2), seconds, {.cores = 2})[TcpCost::kSwitch], 0);
  EXPECT_GE(run(schedule_of("naive", 2), seconds, {.cores = 1})[TcpCost::kSwitch], 1);
}

/// Whatever waits for whom, nobody waits for ever, and on one core nothing is lost; where data goes one way, operations
/// overlap.
TEST(TcpTurns, EveryAlgorithmEnds) {
  const TcpCosts seconds = by_hand(1e-6, 1e-10);
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                                      Collective::kBroadcast, Collective::kReduce, Collective::kAllToAll}) {
    const bool all_wait_for_all = collective == Collective::kAllReduce || collective == Collective::kAllGather;
    for (const std::string_view name : algorithms_for(collective)) {
      for (const int ranks : {2, 3, 5}) {
        const Schedule schedule = find_algorithm(name).build({.collective = collective, .ranks = ranks});
        for (const int parts : {1, 3}) {
          const TcpCosts costs = run(schedule, seconds, {.parts = parts});
          const double moved = static_cast<double>(transfers_of(schedule)) * kBytes;
          EXPECT_NEAR(costs[TcpCost::kByte], moved, (all_wait_for_all ? 0.02 : 0.2) * moved)
              << name << " on " << ranks << " ranks";
        }
        EXPECT_GT(run(schedule, seconds, {.cores = 2})[TcpCost::kMessage], 0) << name;
      }
    }
  }
}

}  // namespace lockstep
