#include "planner/pricing/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

Sweep by_hand() {
  return {.axis = Sweep::Axis::kBytes,
          .points = {1, 10, 100},
          .curves = {{"slow start", {10.0, 10.0, 10.0}}, {"fast start", {1.0, 10.0, 100.0}}, {"short", {0.5, {}, {}}}}};
}

}  // namespace

TEST(Sweep, FindsWhereCurvesCross) {
  const std::vector<Crossing> found = crossings(by_hand());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].below, "fast start");
  EXPECT_EQ(found[0].above, "slow start");
  EXPECT_NEAR(found[0].at, 10, 1e-9);
  EXPECT_NEAR(found[0].seconds, 10, 1e-9);
}

TEST(Sweep, NamesTheFastest) {
  const std::vector<FastestFrom> ranges = fastest(by_hand());
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].algorithm, "short");
  EXPECT_EQ(ranges[1].from, 10);
  EXPECT_EQ(ranges[1].algorithm, "slow start");
}

TEST(Sweep, TreeAndRingCrossWhereTheFormulasSay) {
  // Without reductions: 2h(a + n b) = 2(p-1)(a + n/p b) at n = a (p-1-h) / (b (h - (p-1)/p)).
  const FlatCost cost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0};
  const PricedNetwork flat{.flat = cost, .description = {}};
  const std::vector<Crossing> found =
      crossings(sweep(Sweep::Axis::kBytes, {"ring", "tree"}, {.ranks = 64, .bytes = 0}, flat));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].below, "tree");
  const double expected = 1e-6 * (63 - 6) / (1e-9 * (6 - 63.0 / 64));
  EXPECT_NEAR(found[0].at, expected, 0.05 * expected);
}

TEST(Sweep, OverTheOneRankOfATopology) {
  const FlatCost cost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0};
  const PricedNetwork described{.flat = {}, .description = flat_network(1, cost)};
  EXPECT_THAT(sweep(Sweep::Axis::kRanks, {"ring"}, {.ranks = 1, .bytes = 1e6}, described).points,
              testing::ElementsAre(1));
}

TEST(Sweep, OverRanksUpToThoseAsked) {
  const PricedNetwork flat{.flat = FlatCost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0}, .description = {}};
  const Sweep result = sweep(Sweep::Axis::kRanks, {"ring"}, {.ranks = 24, .bytes = 1e6}, flat);
  EXPECT_THAT(result.points, testing::ElementsAre(2, 4, 8, 16, 24));
  const PricedNetwork described{.flat = {}, .description = flat_network(24, *flat.flat)};
  const Sweep simulated = sweep(Sweep::Axis::kRanks, {"ring"}, {.ranks = 24, .bytes = 1e6}, described);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    EXPECT_NEAR(*simulated.curves[0].seconds[i], *result.curves[0].seconds[i], 0.01 * *result.curves[0].seconds[i]);
  }
}

}  // namespace lockstep
