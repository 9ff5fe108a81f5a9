#include "topology/wiring.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace lockstep {

namespace {

std::vector<std::string> way(const Wiring& wiring, int from, int to) {
  std::vector<std::string> names;
  const Wiring::Path path = wiring.path(from, to);
  for (std::size_t i = 0; i < path.use_count; ++i) names.push_back(wiring.name_of(path.uses[i].resource));
  return names;
}

std::vector<std::string> names_of(const Wiring& wiring, const std::set<Wiring::Kind>& kinds) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < wiring.resources().size(); ++i) {
    if (kinds.contains(wiring.resources()[i].kind)) names.push_back(wiring.name_of(static_cast<int>(i)));
  }
  return names;
}

const std::string kTwoRacks = R"(
[[rack]]
name = "left"
uplink = { bandwidth = "9GB/s" }
[[rack]]
name = "right"
uplink = { bandwidth = "9GB/s" }
)";

}  // namespace

TEST(Wiring, APathCrossesWhatLiesBetween) {
  const Wiring wiring(parse_network(R"(
[[rack]]
name = "left"
uplink = { bandwidth = "9GB/s" }
[[host]]
ranks = 4
sockets = 2
nics = 2
rack = "left"
core = { bandwidth = "1GB/s" }
memory = { bandwidth = "2GB/s", latency = "5ns" }
socket_link = { bandwidth = "3GB/s", latency = "7ns" }
nic = { message = "1us", latency = "2us" }
[[host]]
ranks = 1
nic = { message = "1us", latency = "3us" }
)",
                                    "net"));
  EXPECT_THAT(way(wiring, 0, 1), testing::ElementsAre("rank 1: core", "host0: memory 0"));
  EXPECT_THAT(way(wiring, 1, 2),
              testing::ElementsAre("rank 2: core", "host0: memory 0", "host0: socket 0 to 1", "host0: memory 1"));
  EXPECT_THAT(way(wiring, 3, 4),
              testing::ElementsAre("host0: memory 1", "host0: out of card 1", "rack left: up", "host1: into card 0"));
  for (const auto& [rank, card] : {std::pair(0, 0), std::pair(1, 0), std::pair(2, 1), std::pair(3, 1)}) {
    EXPECT_THAT(way(wiring, rank, 4), testing::Contains(fmt::format("host0: out of card {}", card)));
    EXPECT_THAT(way(wiring, 4, rank), testing::Contains(fmt::format("host0: into card {}", card)));
  }
  EXPECT_THAT(way(wiring, 4, 0),
              testing::ElementsAre("host1: out of card 0", "rack left: down", "host0: into card 0", "host0: memory 0"));
  EXPECT_DOUBLE_EQ(wiring.path(0, 1).latency_s, 5e-9);
  EXPECT_DOUBLE_EQ(wiring.path(0, 4).latency_s, 3e-6);
  const Wiring::Path reduction = wiring.path(0, 1);
  EXPECT_DOUBLE_EQ(reduction.uses[1].seconds_per_byte, 2 / 2e9);
  EXPECT_DOUBLE_EQ(reduction.uses[1].seconds_per_byte_reduced, 3 / 2e9);
  const Wiring::Path across = wiring.path(1, 2);
  EXPECT_DOUBLE_EQ(across.uses[1].seconds_per_byte_reduced, 1 / 2e9) << "it is read there";
  EXPECT_DOUBLE_EQ(across.uses[3].seconds_per_byte, 1 / 2e9) << "and written here,";
  EXPECT_DOUBLE_EQ(across.uses[3].seconds_per_byte_reduced, 2 / 2e9) << "or added to what is read here";
}

TEST(Wiring, WithinARackNobodyCrossesItsUplink) {
  const Wiring wiring(parse_network(kTwoRacks + R"(
[[host]]
count = 2
rack = "left"
nic = { bandwidth = "1GB/s" }
[[host]]
rack = "right"
nic = { bandwidth = "1GB/s" }
)",
                                    "net"));
  EXPECT_THAT(way(wiring, 0, 1), testing::ElementsAre("host0: out of card 0", "host1: into card 0"));
  EXPECT_THAT(way(wiring, 1, 2),
              testing::ElementsAre("host1: out of card 0", "rack left: up", "rack right: down", "host2: into card 0"));
}

TEST(Wiring, OfOneSocketToAnotherALinkLeadsEachWayAndToItselfNone) {
  const Wiring wiring(
      parse_network("[[host]]\nranks = 3\nsockets = 3\nsocket_link = { bandwidth = \"1GB/s\" }\n", "net"));
  EXPECT_THAT(names_of(wiring, {Wiring::Kind::kSocketLink}),
              testing::ElementsAre("host0: socket 0 to 1", "host0: socket 0 to 2", "host0: socket 1 to 0",
                                   "host0: socket 1 to 2", "host0: socket 2 to 0", "host0: socket 2 to 1"));
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from == to) continue;
      EXPECT_THAT(way(wiring, from, to), testing::ElementsAre(fmt::format("host0: socket {} to {}", from, to)));
    }
  }
}

TEST(Wiring, TheFirstRanksKeepTheirSocketsAndEmptyHostsAndRacksHaveNothing) {
  const std::string text = kTwoRacks + R"(
[[host]]
ranks = 4
sockets = 2
rack = "left"
memory = { bandwidth = "2GB/s" }
[[host]]
ranks = 4
rack = "right"
)";
  const Wiring wiring(first_ranks(parse_network(text, "net"), 2));
  EXPECT_THAT(way(wiring, 0, 1), testing::ElementsAre("host0: memory 0")) << "as on the whole of it";
  using enum Wiring::Kind;
  EXPECT_THAT(names_of(wiring, {kMemory, kNicOut, kNicIn, kRackUp, kRackDown}),
              testing::ElementsAre("host0: memory 0", "host0: memory 1", "host0: out of card 0", "host0: into card 0",
                                   "rack left: up", "rack left: down"));
}

TEST(Wiring, NamesOfTheFlatNetworkAreKnownWithoutIt) {
  const Wiring wiring(flat_network(3, {.alpha_s = 1, .beta_s = 1, .gamma_s = 1}));
  EXPECT_THAT(way(wiring, 2, 1),
              testing::ElementsAre(flat_link_name(Wiring::Kind::kNicOut, 2), flat_link_name(Wiring::Kind::kNicIn, 1)));
  EXPECT_EQ(flat_link_name(Wiring::Kind::kCore, 2), wiring.name_of(wiring.core_of(2)));
}

}  // namespace lockstep
