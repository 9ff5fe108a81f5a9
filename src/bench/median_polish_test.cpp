#include "bench/median_polish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lockstep::bench {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(MedianPolish, TellsThingsFromRounds) {
  std::vector<std::vector<double>> table;
  for (const double thing : {10.0, 20.0, 40.0}) {
    table.emplace_back();
    for (const double round : {0.0, 5.0, -1.0, 0.0}) table.back().push_back(thing + round);
  }
  table[1][2] = 1000;  // something else ran
  const Polished found = median_polish(table);
  EXPECT_THAT(found.things, ElementsAre(DoubleEq(10), DoubleEq(20), DoubleEq(40)));
  EXPECT_THAT(found.rounds, ElementsAre(DoubleEq(0), DoubleEq(5), DoubleEq(-1), DoubleEq(0)));
}

TEST(MedianPolish, WhatIsOnlyInSlowRoundsIsNotSlow) {
  const double none = std::nan("");
  const Polished found = median_polish({{1, 1, 1, 4, 4}, {2, 2, 2, 5, 5}, {3, 3, 3, 6, 6}, {none, none, none, 7, 7}});
  EXPECT_THAT(found.things, ElementsAre(DoubleEq(1), DoubleEq(2), DoubleEq(3), DoubleEq(4)));
}

TEST(MedianPolish, OfTooFewThingsARoundSaysNothing) {
  const double none = std::nan("");
  const Polished found = median_polish({{1, 1, 9}, {2, 2, none}, {3, 3, none}, {none, none, none}});
  EXPECT_THAT(found.things, ElementsAre(DoubleEq(1), DoubleEq(2), DoubleEq(3), testing::IsNan()));
  EXPECT_THAT(found.rounds, ElementsAre(DoubleEq(0), DoubleEq(0), testing::IsNan()));
  EXPECT_THAT(median_polish({}).things, IsEmpty());
}

}  // namespace lockstep::bench
