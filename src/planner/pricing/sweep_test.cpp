#include "planner/pricing/sweep.h"

#include "planner/network/closed_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

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

TEST(Sweep, ReachesWhatIsAskedFor) {
  const FlatCost cost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0};
  const PricedNetwork flat{.flat = cost, .description = {}};
  const auto points_for = [&](double bytes) {
    return sweep(Sweep::Axis::kBytes, {"ring"}, {.ranks = 8, .bytes = bytes}, flat).points;
  };
  constexpr double kGiB = 1 << 30;
  EXPECT_EQ(points_for(16 * kGiB).front(), 64);
  EXPECT_EQ(points_for(16 * kGiB).back(), 16 * kGiB);
  EXPECT_EQ(points_for(24).front(), 24);
  EXPECT_EQ(points_for(24).back(), kGiB);
  EXPECT_EQ(points_for(0).front(), 1);
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

/// Curves are straight on the one network, and bend on the other, whose hosts have 3 and 5 ranks.
TEST(Sweep, BetweenTwoSizesThatAreSimulatedNothingElseHappens) {
  constexpr const char* kHosts =
      "name = \"two\"\n"
      "[[host]]\nranks = 3\nmemory = { bandwidth = \"20GB/s\" }\nnic = { message = \"5us\", bandwidth = \"1GB/s\" }\n"
      "[[host]]\nranks = 5\nmemory = { bandwidth = \"9GB/s\" }\nnic = { message = \"2us\", bandwidth = \"3GB/s\" }\n";
  const FlatCost cost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 1e-10};
  const PriceRequest request{.ranks = 8, .bytes = 3e6};
  for (const bool bends : {false, true}) {
    const PricedNetwork network{.flat = {},
                                .description = bends ? parse_network(kHosts, "a test") : flat_network(8, cost)};
    const Sweep result = sweep(Sweep::Axis::kBytes, {"ring", "tree", "swing", "recursive_doubling"}, request, network);
    for (const Sweep::Curve& curve : result.curves) {
      const auto seconds_of = timing(schedule_for(curve.algorithm, request, network.hosts_of(8)), network);
      const auto slope = [&](std::size_t from, std::size_t to) {
        return (*curve.seconds[to] - *curve.seconds[from]) / (result.points[to] - result.points[from]);
      };
      for (std::size_t i = 0; i < result.points.size(); ++i) {
        const double expected = *seconds_of(result.points[i]);
        EXPECT_NEAR(*curve.seconds[i], expected, 1e-8 * expected) << curve.algorithm << " at " << result.points[i];
      }
      const std::size_t last = result.points.size() - 1;
      EXPECT_EQ(std::abs(slope(0, 1) / slope(last - 1, last) - 1) > 1e-6, bends) << curve.algorithm;
    }
  }
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

TEST(Sweep, RangesBeginWhereCurvesCross) {
  const Sweep three{.axis = Sweep::Axis::kBytes,
                    .points = {1, 101},
                    .curves = {{"steep", {1.0, 101.0}}, {"level", {11.0, 11.0}}, {"between", {5.1, 15.1}}}};
  const std::vector<FastestFrom> ranges = fastest(three);
  ASSERT_EQ(ranges.size(), 3U) << "one that is the fastest at neither of both points";
  EXPECT_EQ(ranges[1].algorithm, "between");
  EXPECT_NEAR(ranges[1].from, 5 / 0.9, 1e-9) << "where n is 5 + n / 10";
  EXPECT_THAT(ranges[1].alike, testing::IsEmpty());
  EXPECT_EQ(ranges[2].algorithm, "level");
  EXPECT_NEAR(ranges[2].from, 60, 1e-9);
  const std::vector<Crossing> found = crossings(three);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].at, ranges[1].from);
  EXPECT_EQ(found[2].at, ranges[2].from) << "behind that of the steep and the level one";
}

TEST(Sweep, NamesWhoTakeAsLongAsTheFastest) {
  const Sweep same{.axis = Sweep::Axis::kBytes,
                   .points = {1, 2, 4},
                   .curves = {{"first", {1.0, 1.0, 9.0}},
                              {"second", {1.0, 1.0, 5.0}},
                              {"late", {3.0, 3.0, 4.0}},
                              {"third", {1.0, 1.0, {}}}}};
  const std::vector<FastestFrom> ranges = fastest(same);
  ASSERT_GE(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].algorithm, "first");
  EXPECT_THAT(ranges[0].alike, testing::IsSupersetOf({"second", "third"}));
  EXPECT_EQ(ranges.back().algorithm, "late");
  EXPECT_THAT(ranges.back().alike, testing::IsEmpty());
  Sweep of_ranks = same;
  of_ranks.axis = Sweep::Axis::kRanks;
  const std::vector<FastestFrom> at_points = fastest(of_ranks);
  ASSERT_EQ(at_points.size(), 2U);
  EXPECT_EQ(at_points[1].from, 4);
  EXPECT_THAT(at_points[0].alike, testing::ElementsAre("second", "third")) << "up to the point before";
}

TEST(Sweep, WhoHasNoPriceBeforeLeavesNoEmptyRange) {
  const std::vector<FastestFrom> ranges = fastest({.axis = Sweep::Axis::kRanks,
                                                   .points = {1, 2},
                                                   .curves = {{"a", {1.0, 9.0}}, {"b", {2.0, 5.0}}, {"c", {{}, 1.0}}}});
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[1].from, 2);
  EXPECT_EQ(ranges[1].algorithm, "c");
}

namespace {

constexpr FlatCost kCard{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 1e-10};
const std::vector<std::string> kWithForms{"naive", "star",        "direct",           "ring",     "bidirectional_ring",
                                          "tree",  "double_tree", "halving_doubling", "circulant"};

double told(const std::string& algorithm, double ranks, double bytes) {
  return find_closed_form(algorithm, Collective::kAllReduce)->evaluate(static_cast<int>(ranks), bytes, kCard).seconds;
}

}  // namespace

TEST(Sweep, ByBytesTheOrderIsAnotherBeforeACrossingAndBehindIt) {
  const PricedNetwork flat{.flat = kCard, .description = {}};
  for (const int ranks : {5, 64, 24576}) {
    const std::vector<Crossing> found =
        crossings(sweep(Sweep::Axis::kBytes, kWithForms, {.ranks = ranks, .bytes = 8 << 20}, flat));
    ASSERT_THAT(found, testing::SizeIs(testing::Ge(10U)));
    for (const Crossing& crossing : found) {
      SCOPED_TRACE(crossing.below + ", " + crossing.above);
      EXPECT_LT(told(crossing.below, ranks, 0.999 * crossing.at), told(crossing.above, ranks, 0.999 * crossing.at));
      EXPECT_GT(told(crossing.below, ranks, 1.001 * crossing.at), told(crossing.above, ranks, 1.001 * crossing.at));
    }
  }
}

TEST(Sweep, ByRanksACrossingIsThePowerOfTwoFromWhichTheOrderIsAnother) {
  const PricedNetwork flat{.flat = kCard, .description = {}};
  for (const int last : {64, 5000, 24576}) {
    const double bytes = 25 << 20;
    const Sweep by_ranks = sweep(Sweep::Axis::kRanks, kWithForms, {.ranks = last, .bytes = bytes}, flat);
    const std::vector<Crossing> found = crossings(by_ranks);
    ASSERT_THAT(found, testing::Not(testing::IsEmpty()));
    for (const Crossing& crossing : found) {
      SCOPED_TRACE(crossing.below + ", " + crossing.above);
      EXPECT_LE(crossing.at, last);
      EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(crossing.at)));
      EXPECT_LE(told(crossing.below, crossing.at / 2, bytes),
                told(crossing.above, crossing.at / 2, bytes) * (1 + 1e-6));
      EXPECT_GT(told(crossing.below, crossing.at, bytes), told(crossing.above, crossing.at, bytes));
      EXPECT_DOUBLE_EQ(crossing.seconds, told(crossing.above, crossing.at, bytes));
    }
    for (const FastestFrom& range : fastest(by_ranks))
      EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(range.from)));
  }
}

TEST(Sweep, WhoAreEqualAtAPointCrossThere) {
  const Sweep touching{.axis = Sweep::Axis::kBytes,
                       .points = {1, 10, 100},
                       .curves = {{"steep", {1.0, 10.0, 1000.0}}, {"level", {10.0, 10.0, 10.0}}}};
  ASSERT_EQ(crossings(touching).size(), 1U);
  EXPECT_EQ(crossings(touching)[0].at, 10);
  ASSERT_EQ(fastest(touching).size(), 2U);
  EXPECT_EQ(fastest(touching)[1].from, 10);
  const Sweep parting{
      .axis = Sweep::Axis::kBytes, .points = {1, 10}, .curves = {{"steep", {1.0, 10.0}}, {"level", {1.0, 1.0}}}};
  ASSERT_EQ(fastest(parting).size(), 1U) << "no range from 1 to 1";
  EXPECT_EQ(fastest(parting)[0].algorithm, "level");
}

TEST(Sweep, OfOtherNumbersOfRanksThanPowersOfTwoTheLastStandsAlone) {
  const PricedNetwork flat{.flat = FlatCost{.alpha_s = 5e-6, .beta_s = 1e-10, .gamma_s = 1e-10}, .description = {}};
  const std::vector<std::string> both{"halving_doubling", "circulant"};
  const Sweep to_1000 = sweep(Sweep::Axis::kRanks, both, {.ranks = 1000, .bytes = 8 << 20}, flat);
  ASSERT_EQ(fastest(to_1000).size(), 1U);
  EXPECT_EQ(fastest(to_1000)[0].algorithm, "halving_doubling");
  EXPECT_TRUE(ends_between(to_1000));
  EXPECT_EQ(fastest_at_the_end(to_1000), "circulant");
  EXPECT_FALSE(ends_between(sweep(Sweep::Axis::kRanks, both, {.ranks = 1024, .bytes = 8 << 20}, flat)));
}

namespace {

/// What a sweep of these two on 16 ranks prices where it may simulate only the shorter one.
Sweep without_rings(const std::vector<Price>& rows) {
  const FlatCost cost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0};
  const PricedNetwork described{.flat = {}, .description = flat_network(16, cost)};
  return sweep(Sweep::Axis::kBytes, {"ring", "tree"}, {.ranks = 16, .bytes = 1e6, .most_transfers = 100}, described,
               rows);
}

}  // namespace

TEST(Sweep, SaysWhoIsNotCompared) {
  const std::vector<NotCompared> missing = not_compared(without_rings({}));
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].algorithm, "ring");
  EXPECT_EQ(missing[0].from, 64);
  EXPECT_EQ(missing[0].to, 1 << 30);
}

TEST(Sweep, WhatARowPricesIsKnownAtItsPoint) {
  Price ring{.algorithm = "ring",
             .source = Price::Source::kSimulated,
             .note = {},
             .estimate = {},
             .busiest = {},
             .counts = {},
             .links = {}};
  ring.estimate.seconds = 1e-6;
  Price tree = ring;
  tree.algorithm = "tree";
  const Sweep result = without_rings({ring, tree});
  ASSERT_THAT(result.points, testing::Contains(1e6)) << "no point that is a power of two";
  const std::vector<NotCompared> missing = not_compared(result);
  ASSERT_EQ(missing.size(), 2U);
  EXPECT_EQ(missing[0].to, 1 << 19);
  EXPECT_EQ(missing[1].from, 1 << 20);
  ring.source = Price::Source::kNone;
  EXPECT_EQ(not_compared(without_rings({ring, tree})).size(), 1U) << "a row without a price knows nothing";
  const std::vector<FastestFrom> ranges = fastest(result);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[1].algorithm, "ring");
  EXPECT_EQ(ranges[1].from, 1e6);
  const auto at =
      static_cast<std::size_t>(std::find(result.points.begin(), result.points.end(), 1e6) - result.points.begin());
  EXPECT_GT(*result.curves[1].seconds[at], 1e-3) << "what a curve has of its own stays";
}

/// One point of a longer schedule than is simulated at each of dozens.
TEST(Sweep, LongSchedulesAreSimulatedWhereThereAreFew) {
  const PricedNetwork described{.flat = {}, .description = flat_network(360, {})};
  const PriceRequest request{.ranks = 360, .bytes = 1e6};
  ASSERT_GT(estimated_transfers("ring", request, described), 2.5e5);
  EXPECT_THAT(not_compared(sweep(Sweep::Axis::kRanks, {"ring", "tree"}, request, described)), testing::IsEmpty());
}

}  // namespace lockstep
