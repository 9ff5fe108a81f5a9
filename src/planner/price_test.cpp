#include "planner/price.h"

#include "algorithms/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

const PricedNetwork kFlat{.flat = FlatCost{.alpha_s = 1e-6, .beta_s = 1e-9, .gamma_s = 0}, .description = {}};

}  // namespace

TEST(Price, ASmallScheduleIsSimulated) {
  const Price price = price_algorithm("ring", {.ranks = 4, .bytes = 4000}, kFlat);
  EXPECT_EQ(price.source, Price::Source::kSimulated);
  EXPECT_EQ(price.estimate.steps, 6);
  EXPECT_NEAR(price.estimate.seconds, 6 * 2e-6, 1e-12);
  ASSERT_EQ(price.links.size(), 2U);
  EXPECT_EQ(price.links[0].kind, Wiring::Kind::kNicOut);
  EXPECT_NEAR(price.links[0].mean, 1, 1e-9);
  EXPECT_EQ(price.each_link.size(), 8U);
}

TEST(Price, ALongOneIsPricedByItsClosedFormAndSaysSo) {
  const Price price = price_algorithm("ring", {.ranks = 24576, .bytes = 8 << 20}, kFlat);
  EXPECT_EQ(price.source, Price::Source::kClosedForm);
  EXPECT_THAT(price.note, testing::HasSubstr("2(p-1)(alpha + n/p beta)"));
  EXPECT_EQ(price.estimate.steps, 49150);
  EXPECT_FALSE(price.counts.has_value());
}

TEST(Price, WithoutEitherThereIsNoneAndWhy) {
  const PricedNetwork described{.flat = {}, .description = flat_network(100, {})};
  const Price price = price_algorithm("ring", {.ranks = 100, .bytes = 1, .most_transfers = 100}, described);
  EXPECT_EQ(price.source, Price::Source::kNone);
  EXPECT_THAT(price.note, testing::HasSubstr("no closed form holds on a network that is not flat"));
}

TEST(Price, LengthsOfSchedulesAreContinued) {
  for (const std::string_view name : algorithms_for(Collective::kAllReduce)) {
    const Algorithm algorithm = find_algorithm(name);
    double transfers = 0;
    for (const Step& step : algorithm.build({.ranks = 256}).steps) transfers += static_cast<double>(step.size());
    EXPECT_NEAR(estimated_transfers(algorithm.name, Collective::kAllReduce, 256), transfers, 0.2 * transfers)
        << algorithm.name;
  }
}

}  // namespace lockstep
