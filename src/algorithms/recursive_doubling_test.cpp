#include "algorithms/shape_for_tests.h"
#include "schedule/proof.h"

#include <gtest/gtest.h>

#include <bit>

namespace lockstep {

TEST(RecursiveDoubling, TakesTheLogarithmAndTwoStepsMoreBeyondAPowerOfTwo) {
  for (int ranks = 2; ranks <= 17; ++ranks) {
    const bool is_power = std::has_single_bit(static_cast<unsigned>(ranks));
    const std::size_t steps = is_power ? shape::ceil_log2(ranks) : shape::ceil_log2(ranks) - 1 + 2;
    EXPECT_EQ(shape::build("recursive_doubling", ranks).steps.size(), steps) << ranks;
    EXPECT_EQ(shape::build("recursive_doubling", ranks, Collective::kAllGather).steps.size(), steps) << ranks;
  }
}

TEST(RecursiveDoubling, PartnersSendEachOtherTheWholeBuffer) {
  const Schedule schedule = shape::build("recursive_doubling", 8);
  EXPECT_EQ(schedule.chunks, 1);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    for (const Transfer& transfer : schedule.steps[i]) EXPECT_EQ(transfer.from ^ transfer.to, 1 << i);
    EXPECT_EQ(schedule.steps[i].size(), 8U);
  }
}

TEST(RecursiveDoubling, IsCanonicalForPowersOfTwo) {
  for (const int ranks : {1, 2, 4, 8, 16, 32}) {
    EXPECT_TRUE(prove(shape::build("recursive_doubling", ranks)).canonical) << ranks;
  }
  EXPECT_FALSE(prove(shape::build("recursive_doubling", 5)).canonical);
}

TEST(RecursiveDoubling, InAnAllGatherOfAPowerOfTwoEachRankSendsTheOthersShareOnly) {
  for (const int chunks : shape::sent(shape::build("recursive_doubling", 8, Collective::kAllGather))) {
    EXPECT_EQ(chunks, 7);
  }
}

}  // namespace lockstep
