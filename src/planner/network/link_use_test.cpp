#include "planner/network/link_use.h"

#include "algorithms/catalog.h"
#include "planner/network/closed_form.h"
#include "planner/network/racks_for_tests.h"
#include "schedule/segmented.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {

namespace {

void expect_agreement(const LinkUses& simulated, const LinkUses& told, const std::string& what) {
  ASSERT_EQ(told.by_kind.size(), simulated.by_kind.size()) << what;
  for (std::size_t i = 0; i < told.by_kind.size(); ++i) {
    const LinkUse& expected = simulated.by_kind[i];
    EXPECT_EQ(told.by_kind[i].kind, expected.kind) << what;
    EXPECT_NEAR(told.by_kind[i].mean, expected.mean, 0.01 * expected.mean) << what;
    EXPECT_NEAR(told.by_kind[i].most, expected.most, 0.01 * expected.most) << what;
    EXPECT_EQ(told.by_kind[i].busiest, expected.busiest) << what;
  }
  ASSERT_EQ(told.each.size(), simulated.each.size()) << what;
  for (std::size_t i = 0; i < told.each.size(); ++i) {
    EXPECT_EQ(told.each[i].link, simulated.each[i].link) << what;
    EXPECT_NEAR(told.each[i].use, simulated.each[i].use, 0.01 * simulated.each[i].use) << what;
  }
}

}  // namespace

TEST(LinkUse, ByAFormulaIsThatOfTheSimulation) {
  for (const ClosedForm& form : closed_forms()) {
    const auto expect_on = [&](int ranks) {
      const Schedule schedule = find_algorithm(form.algorithm).build({.collective = form.collective, .ranks = ranks});
      for (const FlatCost& cost : {FlatCost{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 1e-10},
                                   FlatCost{.alpha_s = 0, .beta_s = 1e-9, .gamma_s = 0}}) {
        const Wiring wiring(flat_network(ranks, cost));
        for (const double asked : {1024.0, 1e6}) {
          const double bytes = form.collective == Collective::kBarrier ? 0 : asked;
          const double seconds = form.evaluate(ranks, asked, cost).seconds;
          expect_agreement(
              link_uses(simulate(schedule, bytes, wiring), wiring),
              link_uses(form.loads(ranks, asked), ranks, cost, seconds),
              fmt::format("{} {} on {} ranks, {} bytes", form.algorithm, to_string(form.collective), ranks, bytes));
        }
      }
    };
    for (int ranks = 1; ranks <= 17; ++ranks) expect_on(ranks);
    for (const int ranks : {32, 48, 64}) expect_on(ranks);
  }
}

TEST(LinkUse, BothDirectionsOfAStar) {
  const FlatCost cost{.alpha_s = 0, .beta_s = 1, .gamma_s = 0};
  const ClosedForm* star = find_closed_form("star", Collective::kBroadcast);
  ASSERT_NE(star, nullptr);
  const LinkUses uses = link_uses(star->loads(5, 1), 5, cost, 4);
  ASSERT_EQ(uses.by_kind.size(), 2U) << "nothing is reduced";
  EXPECT_EQ(uses.by_kind[0].kind, Wiring::Kind::kNicOut);
  EXPECT_DOUBLE_EQ(uses.by_kind[0].most, 1);
  EXPECT_DOUBLE_EQ(uses.by_kind[0].mean, 1. / 5);
  EXPECT_EQ(uses.by_kind[0].busiest, "rank 0: out of card 0");
  EXPECT_DOUBLE_EQ(uses.by_kind[1].most, 1. / 4) << "each of the others hears once";
  EXPECT_EQ(uses.by_kind[1].busiest, "rank 1: into card 0");
  EXPECT_EQ(uses.each.size(), 5U);
}

/// Sanders, Speck, Traeff 2009: who is a leaf of one tree is inner in the other, so that in a pipeline nobody's port
/// waits.
TEST(LinkUse, EveryPortOfADoubleTreeIsBusyBothWaysOnceItIsAPipeline) {
  const FlatCost cost{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 0};
  const Wiring wiring(flat_network(64, cost));
  const Schedule trees = find_algorithm("double_tree").build({.ranks = 64});
  const auto least_use = [&](int segments, double bytes) {
    const LinkUses uses = link_uses(simulate(segmented(trees, segments), bytes, wiring), wiring);
    EXPECT_EQ(uses.each.size(), 128U) << "a way out and one in for each rank, and nothing is ever idle for good";
    double least = 1;
    for (const NamedUse& use : uses.each) least = std::min(least, use.use);
    return least;
  };
  EXPECT_GT(least_use(64, 64 << 20), 0.4);
  EXPECT_LT(least_use(1, 64 << 20), 0.15) << "in one segment each level waits for the one below";
}

/// What is shared is as busy as its flows take together: a card's port half of the time that its rack's way up takes.
TEST(LinkUse, OfATopologyTellsCardsAndUplinksApart) {
  const Wiring wiring(parse_network(testing_support::kTwoRacksOfTwo, "racks"));
  const auto uses = [&](const std::vector<Transfer>& transfers) {
    const Schedule schedule{.name = "by hand", .ranks = 4, .chunks = 1, .steps = {transfers}};
    return link_uses(simulate(schedule, 1000, wiring), wiring);
  };
  const auto of_kind = [](const LinkUses& all, Wiring::Kind kind) {
    for (const LinkUse& use : all.by_kind) {
      if (use.kind == kind) return use;
    }
    return LinkUse{.kind = kind, .mean = 0, .most = 0, .busiest = "none"};
  };
  const LinkUses shared = uses({{TransferKind::kCopy, 0, 0, 2}, {TransferKind::kCopy, 0, 1, 3}});
  EXPECT_NEAR(of_kind(shared, Wiring::Kind::kRackUp).most, 1, 1e-9);
  EXPECT_NEAR(of_kind(shared, Wiring::Kind::kRackUp).mean, 0.5, 1e-9) << "the other rack sends nothing";
  EXPECT_NEAR(of_kind(shared, Wiring::Kind::kRackDown).most, 1, 1e-9);
  EXPECT_NEAR(of_kind(shared, Wiring::Kind::kNicOut).most, 0.5, 1e-9) << "two of them fill the way up";
  EXPECT_NEAR(of_kind(shared, Wiring::Kind::kNicOut).mean, 0.25, 1e-9);
  const LinkUses within = uses({{TransferKind::kCopy, 0, 0, 1}});
  EXPECT_EQ(of_kind(within, Wiring::Kind::kRackUp).busiest, "none") << "neighbours of a rack do not leave it";
  EXPECT_NEAR(of_kind(within, Wiring::Kind::kNicOut).most, 1, 1e-9);
}

TEST(LinkUse, OfManyLinksNoneIsListedByItself) {
  const FlatCost cost{.alpha_s = 1, .beta_s = 0, .gamma_s = 0};
  const ClosedForm* ring = find_closed_form("ring", Collective::kAllGather);
  ASSERT_NE(ring, nullptr);
  EXPECT_EQ(link_uses(ring->loads(2048, 1), 2048, cost, 2047).each.size(), kMostNamedLinks);
  const LinkUses uses = link_uses(ring->loads(2049, 1), 2049, cost, 2048);
  EXPECT_TRUE(uses.each.empty());
  EXPECT_NEAR(uses.by_kind[1].mean, 1, 1e-9);
}

TEST(LinkUse, WhereNoTimePassesNothingIsUsed) {
  const ClosedForm* ring = find_closed_form("ring", Collective::kAllGather);
  ASSERT_NE(ring, nullptr);
  EXPECT_TRUE(link_uses(ring->loads(4, 0), 4, {.alpha_s = 0, .beta_s = 1, .gamma_s = 0}, 0).by_kind.empty());
}

}  // namespace lockstep
