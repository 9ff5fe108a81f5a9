#include "bench/readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace lockstep::bench {

using testing::DoubleNear;

namespace {

constexpr double kUsual = 1e-7;

/// Of points that take so long, in rounds of which each is so many times as slow.
Points readings_of(const std::vector<double>& seconds, const std::vector<double>& slowness) {
  Points points;
  for (const double point : seconds) {
    points.emplace_back();
    for (std::size_t round = 0; round < slowness.size(); ++round) {
      points.back().push_back({static_cast<int>(round), point * slowness[round], kUsual});
    }
  }
  return points;
}

std::vector<Finding> found_in(const Points& points) { return findings_of({points}, kUsual).front(); }

}  // namespace

/// More than half of the rounds were slow, each as it came.
TEST(Readings, PointsHaveTheTimeOfFastRounds) {
  const auto points = readings_of({1, 2, 4}, {1, 1, 1.5, 1.6, 1, 1, 1.4, 3, 1.5});
  const std::vector<Finding> found = found_in(points);
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(found[i].usual.seconds, DoubleNear(std::exp2(i), 1e-9));
    EXPECT_TRUE(found[i].is_clear);
    EXPECT_EQ(found[i].other.seconds, 0);
  }
}

/// What a size takes follows from its fast rounds, so that these must say the same too.
TEST(Readings, RoundsOfWhichEverySecondIsFasterAreNotClear) {
  for (const Finding& found : found_in(readings_of({1, 2, 4}, {1, 1.2, 1, 1.2, 1, 1.2}))) EXPECT_FALSE(found.is_clear);
  for (const Finding& found : found_in(readings_of({1, 2, 4}, {1, 1.04, 1, 1.04, 1, 1.04})))
    EXPECT_TRUE(found.is_clear);
}

TEST(Readings, OnePointThatWasMeasuredWhileAllWereSlowIsNotSlower) {
  auto points = readings_of({1, 2, 4, 8}, {1, 1, 2, 1, 2, 1, 2, 2});
  std::erase_if(points[3], [](const Reading& reading) { return reading.seconds == 8; });
  EXPECT_THAT(found_in(points)[3].usual.seconds, DoubleNear(8, 1e-9));
}

/// The next size was measured four times more, while nothing was slow.
TEST(Readings, ASizeWithMoreFastRoundsIsNotFasterThanTheNext) {
  const Points some = readings_of({1, 2, 4}, {1.5, 1.45, 1.6, 1.5, 1.4, 1.55, 1.5});
  const Points more = readings_of({10, 20, 40}, {1.5, 1.45, 1.6, 1.5, 1.4, 1.55, 1.5, 1, 1, 1, 1});
  const std::vector<std::vector<Finding>> found = findings_of({some, more}, kUsual);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_THAT(found[1][i].usual.seconds / found[0][i].usual.seconds, DoubleNear(10, 0.2));
}

TEST(Readings, WhatWasReadInTheOtherStateIsKeptApart) {
  auto points = readings_of({1, 2, 4, 8}, {1, 1, 1, 5, 1, 5, 15});
  for (auto& readings : points) {
    for (Reading& reading : readings) {
      if (reading.round == 3 || reading.round >= 5) reading.distance = 4 * kUsual;
    }
  }
  points[0].pop_back();
  for (Reading& reading : points[2]) reading.distance = kUsual / 4;
  const std::vector<Finding> found = found_in(points);
  EXPECT_THAT(found[1].usual.seconds, DoubleNear(2, 1e-9));
  EXPECT_THAT(found[1].other.seconds, DoubleNear(10, 1e-9)) << "in the fastest of its rounds";
  EXPECT_EQ(found[0].other.seconds, 0) << "two readings are too few";
  EXPECT_THAT(found[2].usual.seconds, DoubleNear(4, 1e-9)) << "it has nothing else";
  EXPECT_FALSE(found[2].is_clear);
}

TEST(Readings, WhatVariesByItselfHasAnError) {
  auto points = readings_of({1, 2, 4, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  const std::array<double, 9> kStrays{0.8, 0.9, 1, 1.1, 1.2, 0.8, 0.9, 1.1, 1.2};
  for (Reading& reading : points[3]) reading.seconds *= kStrays.at(static_cast<std::size_t>(reading.round));
  const std::vector<Finding> found = found_in(points);
  EXPECT_EQ(found[0].usual.error, 0.005) << "the least";
  // The median deviation is that of 0.9; the error of the median of nine is 1.2533 * 1.4826 / 3 of it.
  EXPECT_THAT(found[3].usual.error, DoubleNear(-0.6194 * std::log(0.9), 1e-4));
  EXPECT_EQ(found_in(readings_of({1, 2, 4}, {1, 1}))[0].usual.error, 0.1) << "of two nobody knows";
}

TEST(Readings, EverySecondOneThatSaysSomethingElseIsNotClear) {
  auto points = readings_of({1, 2, 4, 8}, {1, 1, 1, 1, 1, 1});
  for (Reading& reading : points[0]) reading.seconds *= reading.round % 2 == 1 ? 1.2 : 1;
  const std::vector<Finding> found = found_in(points);
  EXPECT_FALSE(found[0].is_clear);
  EXPECT_TRUE(found[1].is_clear);
  EXPECT_FALSE(found_in(readings_of({1, 2, 4}, {1, 1}))[0].is_clear) << "two are too few";
}

}  // namespace lockstep::bench
