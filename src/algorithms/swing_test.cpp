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

TEST(Swing, OfAPowerOfTwoIsOptimalInStepsAndBytes) {
  for (const int ranks : {2, 4, 8, 16, 32}) {
    const Schedule schedule = shape::build("swing", ranks);
    EXPECT_EQ(schedule.steps.size(), 2 * shape::ceil_log2(ranks));
    EXPECT_EQ(schedule.chunks, ranks);
    for (const int chunks : shape::sent(schedule)) EXPECT_EQ(chunks, 2 * (ranks - 1));
    EXPECT_EQ(shape::most_peers_in_a_step(schedule), 1);
    EXPECT_EQ(prove(schedule).canonical, ranks <= 4) << "from 8 on it pairs the first rank with the last";
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

TEST(Swing, TheAmountHalvesThenDoubles) {
  const Schedule schedule = shape::build("swing", 8);
  const std::size_t each[] = {4, 2, 1, 1, 2, 4};
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) EXPECT_EQ(schedule.steps[i].size(), 8 * each[i]);
}

TEST(Swing, RanksBeyondAPowerOfTwoHandInAndAreHandedTheBuffer) {
  const Schedule schedule = shape::build("swing", 11);
  EXPECT_EQ(schedule.chunks, 8);
  EXPECT_EQ(schedule.steps.size(), 2U * 3U + 2U);
  for (const Transfer& transfer : schedule.steps.front()) {
    EXPECT_EQ(transfer.from, transfer.to + 1);
    EXPECT_TRUE(transfer.to == 0 || transfer.to == 2 || transfer.to == 4);
  }
  EXPECT_EQ(schedule.steps.front().size(), 3U * 8U);
  EXPECT_EQ(schedule.steps.back().size(), 3U * 8U);
}

}  // namespace lockstep
