#include "planner/network/simulate.h"

#include "algorithms/catalog.h"
#include "planner/network/racks_for_tests.h"
#include "schedule/segmented.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {

namespace {

Schedule one_transfer(TransferKind kind) {
  return {.name = "one", .ranks = 2, .chunks = 1, .steps = {{{kind, 0, 0, 1}}}};
}

/// Two hosts of two sockets with two ranks each.
constexpr const char* kTwoHosts = R"(
gamma = "1ns/B"
[[host]]
count = 2
ranks = 4
sockets = 2
memory = { bandwidth = "4GB/s" }
socket_link = { bandwidth = "1GB/s", latency = "1us" }
nic = { bandwidth = "0.5GB/s", message = "3us", latency = "2us" }
)";

double seconds(const Schedule& schedule, double bytes) {
  return simulate(schedule, bytes, Wiring(parse_network(kTwoHosts, "two hosts"))).seconds;
}

Schedule between(std::initializer_list<Transfer> transfers) {
  return {.name = "by hand", .ranks = 8, .chunks = 1, .steps = {transfers}};
}

}  // namespace

TEST(Simulate, AMessageOnAFlatNetwork) {
  const Wiring wiring(flat_network(2, {.alpha_s = 5e-6, .beta_s = 1e-9, .gamma_s = 2e-9}));
  EXPECT_NEAR(simulate(one_transfer(TransferKind::kCopy), 1000, wiring).seconds, 6e-6, 1e-12);
  EXPECT_NEAR(simulate(one_transfer(TransferKind::kReduce), 1000, wiring).seconds, 8e-6, 1e-12);
  EXPECT_EQ(simulate(one_transfer(TransferKind::kCopy), 0, Wiring(flat_network(2, {}))).seconds, 0);
}

TEST(Simulate, OneMessageAfterAnotherWhereAStepNeedsTheLast) {
  const Schedule chain{.name = "chain",
                       .collective = Collective::kBroadcast,
                       .ranks = 3,
                       .chunks = 1,
                       .steps = {{{TransferKind::kCopy, 0, 0, 1}}, {{TransferKind::kCopy, 0, 1, 2}}}};
  const Simulation result = simulate(chain, 1000, Wiring(flat_network(3, {.alpha_s = 1e-6, .beta_s = 1e-9})));
  EXPECT_NEAR(result.seconds, 4e-6, 1e-12);
  EXPECT_NEAR(result.rank_seconds[0], 2e-6, 1e-12);
  EXPECT_NEAR(result.rank_seconds[1], 4e-6, 1e-12);
}

TEST(Simulate, PartsOfAMachineAreShared) {
  const Transfer in_socket{TransferKind::kCopy, 0, 0, 1};
  const Transfer other_socket{TransferKind::kCopy, 0, 2, 3};
  const Transfer across_sockets{TransferKind::kCopy, 0, 1, 2};
  const Transfer also_across{TransferKind::kCopy, 0, 0, 3};
  const Transfer back_across{TransferKind::kCopy, 0, 3, 0};
  EXPECT_NEAR(seconds(between({in_socket}), 4000), 2e-6, 1e-12) << "a copy crosses the bus twice";
  const Transfer summed{TransferKind::kReduce, 0, 0, 1};
  EXPECT_NEAR(seconds(between({summed}), 4000), 3e-6 + 4e-6, 1e-12) << "two are read and one is written";
  Schedule of_both = between({summed, {TransferKind::kCopy, 1, 0, 1}});
  of_both.chunks = 2;
  EXPECT_NEAR(seconds(of_both, 4000), 2.5e-6 + 2e-6, 1e-12) << "of one message half is copied, half is summed";
  EXPECT_NEAR(seconds(between({in_socket, other_socket}), 4000), 2e-6, 1e-12) << "each socket has its bus";
  EXPECT_NEAR(seconds(between({across_sockets}), 4000), 5e-6, 1e-12) << "latency, and the link is slower";
  EXPECT_NEAR(seconds(between({across_sockets, also_across}), 4000), 9e-6, 1e-12) << "one link one way";
  EXPECT_NEAR(seconds(between({across_sockets, back_across}), 4000), 5e-6, 1e-12) << "each way has its own";
}

TEST(Simulate, CardsAreSharedAndTakeAMessagesTime) {
  const Transfer there{TransferKind::kCopy, 0, 0, 4};
  const Transfer also_there{TransferKind::kCopy, 0, 1, 5};
  const Transfer back{TransferKind::kReduce, 0, 4, 0};
  EXPECT_NEAR(seconds(between({there}), 1000), 3e-6 + 2e-6 + 2e-6, 1e-12);
  EXPECT_NEAR(seconds(between({there, also_there}), 1000), 6e-6 + 2e-6 + 4e-6, 1e-12);
  EXPECT_NEAR(seconds(between({back}), 1000), 7e-6 + 1e-6, 1e-12) << "reduced on arrival";
}

TEST(Simulate, UplinksOfRacksAreShared) {
  const Wiring wiring(parse_network(testing_support::kTwoRacksOfTwo, "racks"));
  const auto time = [&](std::initializer_list<Transfer> transfers) {
    return simulate({.name = "by hand", .ranks = 4, .chunks = 1, .steps = {transfers}}, 1000, wiring).seconds;
  };
  EXPECT_NEAR(time({{TransferKind::kCopy, 0, 0, 1}}), 1e-6, 1e-12);
  EXPECT_NEAR(time({{TransferKind::kCopy, 0, 0, 2}, {TransferKind::kCopy, 0, 1, 3}}), 2e-6, 1e-12);
}

TEST(Simulate, ARingKeepsEveryPortBusyBothWays) {
  const Wiring wiring(flat_network(8, {.alpha_s = 1e-6, .beta_s = 1e-9}));
  const Simulation ring = simulate(find_algorithm("ring").build({.ranks = 8}), 1e6, wiring);
  int ports = 0;
  for (std::size_t i = 0; i < wiring.resources().size(); ++i) {
    const Wiring::Kind kind = wiring.resources()[i].kind;
    if (kind != Wiring::Kind::kNicOut && kind != Wiring::Kind::kNicIn) continue;
    ++ports;
    EXPECT_NEAR(ring.use_of(static_cast<int>(i)), 1, 1e-9);
  }
  EXPECT_EQ(ports, 16);
}

TEST(Simulate, TheLeavesOfTwoTreesAreBusyBothWays) {
  // Every rank is a leaf of one of the trees. Long enough a pipeline keeps all ports busy, but for its start and its
  // end; in one tree a leaf's port would only ever send, or only receive, and stand still half of the time.
  constexpr int kRanks = 8;
  const Wiring wiring(flat_network(kRanks, {.alpha_s = 0, .beta_s = 1e-9}));
  const auto least_use = [&](const char* algorithm) {
    const Simulation result = simulate(segmented(find_algorithm(algorithm).build({.ranks = kRanks}), 64), 1e6, wiring);
    double least = 1;
    for (int i = 0; i < static_cast<int>(wiring.resources().size()); ++i) {
      const Wiring::Kind kind = wiring.resources()[static_cast<std::size_t>(i)].kind;
      const bool is_port = kind == Wiring::Kind::kNicOut || kind == Wiring::Kind::kNicIn;
      if (is_port) least = std::min(least, result.use_of(i));
    }
    return least;
  };
  EXPECT_GT(least_use("double_tree"), 0.4);
  EXPECT_GT(least_use("double_tree"), 1.5 * least_use("tree"));
}

TEST(Simulate, NothingTakesNoTime) {
  EXPECT_EQ(simulate(find_algorithm("ring").build({.ranks = 1}), 1e6, Wiring(flat_network(1, {.beta_s = 1}))).seconds,
            0);
}

TEST(Simulate, TakesNoMoreWorkThanItMay) {
  const Wiring wiring(parse_network(kTwoHosts, "two hosts"));
  const Schedule direct = find_algorithm("direct").build({.ranks = 8});
  Effort enough{.messages_at_once = 56, .looked_at = 1e6};  // 8 ranks send 7 messages a step
  EXPECT_EQ(simulate_within(enough, direct, 1e6, wiring).value().seconds, simulate(direct, 1e6, wiring).seconds);
  const double took = 1e6 - enough.looked_at;
  EXPECT_GT(took, 2 * 56);
  Effort exactly{.looked_at = took};
  EXPECT_TRUE(simulate_within(exactly, direct, 1e6, wiring));
  EXPECT_EQ(exactly.looked_at, 0);
  Effort fewer_at_once{.messages_at_once = 55};
  EXPECT_FALSE(simulate_within(fewer_at_once, direct, 1e6, wiring));
  Effort too_little{.looked_at = took / 2};
  EXPECT_FALSE(simulate_within(too_little, direct, 1e6, wiring));
  EXPECT_EQ(too_little.looked_at, 0);
}

}  // namespace lockstep
