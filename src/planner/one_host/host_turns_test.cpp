#include "planner/one_host/host_turns.h"

#include "algorithms/catalog.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep {

namespace {

/// Seconds, by hand: everything but these costs nothing.
HostCosts by_hand(double switch_s, double progress_s, double move_s) {
  HostCosts seconds;
  seconds[HostCosts::kSwitch] = switch_s;
  seconds[HostCosts::kProgress] = progress_s;
  seconds[HostCosts::kMove] = move_s;
  return seconds;
}

HostCosts run(const Schedule& schedule, int cores, const HostCosts& seconds, const Length& length,
              const HostTurns::BeforeBarrier& before_barrier = {}, double before_switch = 1) {
  const int ranks = schedule.ranks;
  const bool is_staged = !runs_in_place(schedule);
  std::vector<Plan> plans;
  plans.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    plans.push_back(is_staged ? make_staged_plan(schedule, rank) : make_in_place_plan(schedule, rank));
  }
  const HostTurns::Host host{
      .is_staged = is_staged, .pieces = 1, .cores = cores, .for_their_sake = 0.5, .before_switch = before_switch};
  HostTurns turns(plans, host, seconds);
  const auto move_costs = [](const Plan::Move&, const HostTurns::Where&, HostCosts& costs) {
    ++costs[HostCosts::kMove];
    ++costs[HostCosts::kFetchedByte];
    ++costs[HostCosts::kSharedWriteOwnByte];
  };
  return turns.run(length, move_costs, before_barrier);
}

constexpr Length kSteady{2, 4};

HostCosts run(const char* algorithm, int ranks, int cores, const HostCosts& seconds) {
  return run(find_algorithm(algorithm).build({.ranks = ranks}), cores, seconds, kSteady);
}

}  // namespace

TEST(HostTurns, RanksWithACoreEachNeverSwitch) {
  for (const char* algorithm : {"naive", "star", "direct", "ring", "tree"}) {
    EXPECT_EQ(run(algorithm, 4, 4, by_hand(1, 1, 1))[HostCosts::kSwitch], 0) << algorithm;
  }
}

TEST(HostTurns, OnOneCoreNothingCrosses) {
  for (const char* algorithm : {"naive", "star", "direct", "ring", "tree"}) {
    const HostCosts costs = run(algorithm, 4, 1, by_hand(1, 1, 1));
    EXPECT_EQ(costs[HostCosts::kProgress], 0) << algorithm;
    EXPECT_GE(costs[HostCosts::kSwitch], 3) << algorithm << ": each of the four must have its turn";
    EXPECT_EQ(costs[HostCosts::kOperation], 4) << algorithm;
  }
}

/// Of an exchange both cores fetch and take back at once; a star's centre does while the other waits.
TEST(HostTurns, WhatCrossesWhileOthersAreBusyIsContended) {
  const HostCosts exchanged = run("direct", 2, 2, by_hand(1, 1, 100));
  EXPECT_EQ(exchanged[HostCosts::kContendedByte], 2 * exchanged[HostCosts::kFetchedByte]);
  EXPECT_EQ(exchanged[HostCosts::kSharedWriteOwnByte], exchanged[HostCosts::kFetchedByte]);
  const HostCosts gathered = run("star", 2, 2, by_hand(1, 1, 100));
  EXPECT_EQ(gathered[HostCosts::kContendedByte], 0);
  EXPECT_EQ(gathered[HostCosts::kSharedWriteOwnByte], 0.5 * gathered[HostCosts::kFetchedByte]) << "for nobody's sake";
}

/// Whoever is ahead at a barrier waits there, and what began before it has ended.
TEST(HostTurns, WhatBeginsAtABarrierTakesAsLongAsAlone) {
  const HostCosts seconds = by_hand(1, 1, 100);
  for (const std::string_view name : algorithms_for(Collective::kBroadcast)) {
    const Schedule schedule = find_algorithm(name).build({.collective = Collective::kBroadcast, .ranks = 4});
    const auto takes = [&](int starting, int batch) {
      return run(schedule, 4, seconds, {starting, batch, true}) * seconds;
    };
    EXPECT_DOUBLE_EQ(takes(1, 1), takes(3, 1)) << name;
    EXPECT_LE(takes(1, 4), takes(1, 1)) << name;
    EXPECT_GE(takes(1, 4), run(schedule, 4, seconds, kSteady) * seconds) << name;
  }
}

TEST(HostTurns, WhatComesBeforeABarrierComesOnce) {
  const Schedule schedule = find_algorithm("ring").build({.ranks = 4});
  int times = 0;
  const auto count = [&] { ++times; };
  (void)run(schedule, 4, by_hand(1, 1, 1), {1, 4, true}, count);
  EXPECT_EQ(times, 1);
  (void)run(schedule, 4, by_hand(1, 1, 1), kSteady, count);
  EXPECT_EQ(times, 1) << "there is none";
}

/// Two switches to hear of both of another core, and a half until the core that waits looks at one that can go on,
/// which both can. Of a broadcast only one of them can first, which it looks at a whole switch later.
TEST(HostTurns, ACoreThatWaitsSeesWhatHasComeHalfARoundLater) {
  EXPECT_EQ(run("star", 4, 2, by_hand(1, 1, 100))[HostCosts::kSwitch], 2.5);
  const Schedule broadcast = find_algorithm("tree").build({.collective = Collective::kBroadcast, .ranks = 4});
  EXPECT_EQ(run(broadcast, 2, by_hand(1, 1, 100), {1, 1, true})[HostCosts::kSwitch], 2);
  EXPECT_EQ(run("star", 2, 2, by_hand(1, 1, 100))[HostCosts::kSwitch], 0)
      << "who has a core alone looks at nobody else";
}

/// Of 3 ranks on 2 cores the third has one alone and looks at the centre's line all the time: that crosses before the
/// first core goes on to its other rank. Of 4 nobody has a core alone.
TEST(HostTurns, WhatALoneRankLooksForCrossesBeforeTheNextSwitch) {
  const auto crossings = [](int ranks, double before_switch) {
    const Schedule schedule = find_algorithm("star").build({.ranks = ranks});
    return run(schedule, 2, by_hand(10, 1, 1), kSteady, {}, before_switch)[HostCosts::kProgress];
  };
  EXPECT_EQ(crossings(3, 1), 2) << "what the third shows, and what it is shown";
  EXPECT_EQ(crossings(3, 0.75), 1.75) << "a quarter of which has passed before the switch waits for it";
  EXPECT_EQ(crossings(4, 1), 2) << "what two show, and nothing that they are shown";
}

/// Two that are dealt with alike take as long: in step for ever, the one would have three switches and the other five.
TEST(HostTurns, WhatStraysIsTheSameInTheMeanAndNobodyStaysInStep) {
  const HostCosts seconds = by_hand(1e-6, 1e-7, 1e-8);
  const auto switches = [&](const char* algorithm, double straying) {
    const Schedule schedule = find_algorithm(algorithm).build({.ranks = 4});
    std::vector<Plan> plans;
    plans.reserve(4);
    for (int rank = 0; rank < 4; ++rank) plans.push_back(make_in_place_plan(schedule, rank));
    HostTurns turns(plans, {.is_staged = false, .pieces = 1, .cores = 2, .straying = straying}, seconds);
    const auto moves = [](const Plan::Move&, const HostTurns::Where&, HostCosts& costs) { ++costs[HostCosts::kMove]; };
    return turns.run({4, 64}, moves)[HostCosts::kSwitch];
  };
  EXPECT_EQ(switches("halving_doubling", 0), 3);
  EXPECT_EQ(switches("swing", 0), 5);
  const double halving = switches("halving_doubling", 0.3);
  EXPECT_NEAR(switches("swing", 0.3), halving, 0.1 * halving);
  EXPECT_EQ(switches("halving_doubling", 0.3), halving) << "alike each time";
}

TEST(HostTurns, AStarsCentreWaitsForAllAndAllForIt) {
  const HostCosts costs = run("star", 4, 4, by_hand(1, 1, 10));
  EXPECT_EQ(costs[HostCosts::kMove], 1) << "the one sum";
  EXPECT_EQ(costs[HostCosts::kProgress], 4) << "of three that have come, and on one of them of the centre's";
}

TEST(HostTurns, TheLongestChainCountsAndNotTheSumOfAll) {
  // Each rank of a ring adds three times, the last sum goes to its successor in the same pass, and copies twice.
  EXPECT_EQ(run("ring", 4, 4, by_hand(0, 0, 1))[HostCosts::kMove], 5);
  EXPECT_EQ(run("ring", 4, 1, by_hand(0, 0, 1))[HostCosts::kMove], 20);
}

TEST(HostTurns, WhatAnotherCoreDoesMeanwhileComesBetweenThePartsOfAMove) {
  const Schedule schedule = find_algorithm("direct").build({.ranks = 2});
  const std::vector<Plan> plans{make_in_place_plan(schedule, 0), make_in_place_plan(schedule, 1)};
  const HostCosts seconds = by_hand(0, 0, 1);
  HostTurns turns(plans, {.is_staged = false, .pieces = 1, .parts = 3, .cores = 2}, seconds);
  std::vector<std::pair<int, int>> order;  // rank, part
  const HostCosts costs = turns.run({1, 1}, [&](const Plan::Move&, const HostTurns::Where& where, HostCosts& spent) {
    ++spent[HostCosts::kMove];
    if (where.operation == 1) order.emplace_back(where.rank, where.part);
  });
  const std::vector<std::pair<int, int>> expected{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};
  EXPECT_EQ(order, expected);
  EXPECT_EQ(costs[HostCosts::kMove], 3) << "one move on each, at the same time";
}

/// Which no schedule has them do.
TEST(HostTurns, RanksThatWaitForEachOtherAreAnError) {
  const Schedule schedule = find_algorithm("direct").build({.ranks = 2});
  std::vector<Plan> plans{make_in_place_plan(schedule, 0), make_in_place_plan(schedule, 1)};
  constexpr int kNeverShown = 1 << 20;
  for (int rank = 0; rank < 2; ++rank) {
    plans[static_cast<std::size_t>(rank)].steps.front().before = {Plan::Wait{.peer = 1 - rank, .ticks = kNeverShown}};
  }
  const auto costs_nothing = [](const Plan::Move&, const HostTurns::Where&, HostCosts&) {};
  const HostCosts seconds = by_hand(1, 1, 1);
  for (const int cores : {1, 2}) {
    HostTurns turns(plans, {.is_staged = false, .pieces = 1, .cores = cores}, seconds);
    EXPECT_THROW((void)turns.run({1, 1}, costs_nothing), std::logic_error) << cores;
  }
}

TEST(HostTurns, AllCoresTogetherDoWhatTheScheduleSays) {
  const Schedule schedule = find_algorithm("ring").build({.ranks = 4});
  std::vector<Plan> plans;
  plans.reserve(4);
  for (int rank = 0; rank < 4; ++rank) plans.push_back(make_in_place_plan(schedule, rank));
  std::size_t moves = 0;
  for (const Plan& plan : plans) {
    for (const Plan::Step& step : plan.steps) moves += step.moves.size();
  }
  const HostCosts seconds = by_hand(1, 1, 1);
  HostTurns turns(plans, {.is_staged = false, .pieces = 1, .cores = 2}, seconds);
  (void)turns.run({1, 3},
                  [](const Plan::Move&, const HostTurns::Where&, HostCosts& costs) { ++costs[HostCosts::kMove]; });
  EXPECT_DOUBLE_EQ(turns.of_all_cores()[HostCosts::kMove], static_cast<double>(moves));
}

}  // namespace lockstep
