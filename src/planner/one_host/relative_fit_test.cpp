#include "planner/one_host/relative_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

using testing::DoubleNear;
using testing::ElementsAre;

namespace {

/// A message costs 2, a byte 1e-6.
Amounts messages_and_bytes() {
  Amounts amounts;
  for (double messages = 1; messages < 8; ++messages) {
    for (double bytes = 1; bytes < 1e8; bytes *= 10) amounts.push_back({messages, bytes});
  }
  return amounts;
}
std::vector<double> totals_of(const Amounts& amounts) {
  std::vector<double> totals;
  for (const auto& row : amounts) totals.push_back(2 * row[0] + 1e-6 * row[1]);
  return totals;
}

}  // namespace

TEST(RelativeFit, FindsThePricesThatMadeTheTotals) {
  const Amounts amounts = messages_and_bytes();
  EXPECT_THAT(fit_relative(amounts, totals_of(amounts)), ElementsAre(DoubleNear(2, 1e-6), DoubleNear(1e-6, 1e-12)));
}

TEST(RelativeFit, DisturbedRowsCountLittle) {
  const Amounts amounts = messages_and_bytes();
  std::vector<double> totals = totals_of(amounts);
  for (std::size_t i = 0; i < totals.size(); i += 7) totals[i] *= 10;
  EXPECT_THAT(fit_relative(amounts, totals), ElementsAre(DoubleNear(2, 0.1), DoubleNear(1e-6, 1e-7)));
  // What seems too fast is wrong by more, as a part of itself.
  for (std::size_t i = 0; i < totals.size(); i += 7) totals[i] /= 20;
  EXPECT_THAT(fit_relative(amounts, totals), ElementsAre(DoubleNear(2, 0.15), DoubleNear(1e-6, 1.6e-7)));
}

TEST(RelativeFit, NoPriceIsBelowZero) {
  // The less of the second the longer it took.
  EXPECT_THAT(fit_relative({{1, 3}, {1, 2}, {1, 1}}, {1, 2, 3}), ElementsAre(testing::Gt(0), testing::Eq(0)));
}

TEST(RelativeFit, WhatIsInNoRowCostsNothing) {
  EXPECT_THAT(fit_relative({{1, 0}, {2, 0}}, {3, 6}), ElementsAre(DoubleNear(3, 1e-9), testing::Eq(0)));
  EXPECT_THAT(fit_relative({}, {}), testing::IsEmpty());
}

}  // namespace lockstep
