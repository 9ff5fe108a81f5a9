#include "bench/fast_levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace lockstep::bench {

using testing::DoubleNear;
using testing::IsNan;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST(FastLevels, OneSizeHasItsOwnQuarter) {
  EXPECT_EQ(fastest_quarter({0.4, 0.1, 0.3, 0.2}), 0.1);
  EXPECT_EQ(fast_levels({{0.3, 0.1, 0.2, kNone, 0.4}}), std::vector{0.1});
  EXPECT_TRUE(fast_levels({}).empty());
}

/// Their quarters are 0.1 and -0.2; where both were measured the second takes as long as the first.
TEST(FastLevels, NeighboursDifferAsInTheRoundsThatBothHad) {
  const std::vector<double> levels =
      fast_levels({{0.1, 0.2, 0.1, 0.2, kNone, kNone}, {0.1, 0.2, 0.1, 0.2, -0.2, -0.2}});
  EXPECT_THAT(levels[1] - levels[0], DoubleNear(0, 0.03));
  EXPECT_GT(levels[0], -0.2);
  EXPECT_LT(levels[0], 0.1);
}

/// The second strays by itself: its quarter is 0.3, and in the median it takes 0.5 more than the first.
TEST(FastLevels, WhatStraysDoesNotMoveANeighbourThatDoesNot) {
  const std::vector<double> levels =
      fast_levels({{0, 0.01, 0, 0.01, 0, 0.01, 0, 0.01, 0}, {0.5, 0.7, 0.9, 0.3, 0.1, 0.8, 0.4, 0.2, 0.6}});
  EXPECT_THAT(levels[0], DoubleNear(0, 0.01));
  EXPECT_THAT(levels[1], DoubleNear(0.4, 0.05));
}

/// By hand: quarters of 0 and 0.8 and a difference of 0.4, each with the same error, since two rounds say nothing of
/// it, are met best where each is off by a third of the 0.4 that they disagree by.
TEST(FastLevels, WhatDisagreesIsWeighedByItsErrors) {
  const std::vector<double> levels = fast_levels({{0, 0.4}, {kNone, 0.8, 1}, {kNone, kNone, kNone}});
  EXPECT_THAT(levels[0], DoubleNear(0.4 / 3, 1e-12));
  EXPECT_THAT(levels[1], DoubleNear(0.8 - 0.4 / 3, 1e-12));
  EXPECT_THAT(levels[2], IsNan()) << "nobody measured it";
}

}  // namespace lockstep::bench
