#include "algorithms/shape_for_tests.h"
#include "schedule/proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace lockstep {

namespace {

/// All chunks, each times the way around a ring of the ranks that it goes.
int way_of_chunks(const Schedule& schedule) {
  int way = 0;
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      const int forward = (transfer.to - transfer.from + schedule.ranks) % schedule.ranks;
      way += std::min(forward, schedule.ranks - forward);
    }
  }
  return way;
}

}  // namespace

/// What it shares with halving_doubling is in halving_test.cpp.
TEST(Swing, OfUpToFourRanksIsCanonical) {
  for (const int ranks : {2, 4, 8, 16, 32}) {
    EXPECT_EQ(prove(shape::build("swing", ranks)).canonical, ranks <= 4)
        << "from 8 on it pairs the first with the last";
  }
}

TEST(Swing, PartnersAreThePapers) {
  const int to_the_right[] = {1, -1, 3, -5, 11, 11, -5, 3, -1, 1};  // of even ranks; odd ones go to the left
  const Schedule schedule = shape::build("swing", 32);
  ASSERT_EQ(schedule.steps.size(), std::size(to_the_right));
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    for (const Transfer& transfer : schedule.steps[i]) {
      const int way = transfer.from % 2 == 0 ? to_the_right[i] : -to_the_right[i];
      EXPECT_EQ(transfer.to, (transfer.from + way + 32) % 32) << "in step " << i;
    }
  }
}

TEST(Swing, ShortcutsTheRing) {
  for (const int ranks : {8, 16, 32, 64}) {
    EXPECT_LT(way_of_chunks(shape::build("swing", ranks)), way_of_chunks(shape::build("halving_doubling", ranks)));
  }
}

TEST(Swing, ItsRingGoesAlongHosts) {
  const std::vector<int> dealt_in_turn{0, 1, 2, 3, 0, 1, 2, 3};
  const Schedule schedule = find_algorithm("swing").build({.ranks = 8, .hosts = dealt_in_turn});
  for (const std::size_t step : {std::size_t{0}, schedule.steps.size() - 1}) {
    for (const Transfer& transfer : schedule.steps[step]) EXPECT_EQ(transfer.from % 4, transfer.to % 4);
  }
}

}  // namespace lockstep
