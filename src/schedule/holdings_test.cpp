#include "schedule/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Transfer reduce(int from, int to) { return {TransferKind::kReduce, 0, from, to}; }
constexpr Transfer copy(int from, int to) { return {TransferKind::kCopy, 0, from, to}; }

void carry_out(Holdings& holdings, const std::vector<Transfer>& step) { holdings.apply(step); }

std::string twice(const Holdings& holdings, const std::vector<Transfer>& reduces) {
  const auto found = holdings.counted_twice(reduces);
  return found ? std::to_string(found->rank) + " has " + std::to_string(found->contribution) + " twice" : "";
}

}  // namespace

TEST(Holdings, StartWithWhatTheCollectiveGives) {
  const Holdings reduction({.ranks = 3}, 0);
  EXPECT_THAT(reduction.contributions(2), ElementsAre(2));
  EXPECT_FALSE(reduction.is_complete(2));
  const Holdings broadcast({.collective = Collective::kBroadcast, .ranks = 3, .root = 1}, 0);
  EXPECT_TRUE(broadcast.is_complete(1));
  EXPECT_FALSE(broadcast.holds(0));
  const Holdings gathered({.collective = Collective::kAllGather, .ranks = 2, .chunks = 4}, 2);
  EXPECT_THAT(gathered.contributions(0), IsEmpty());
  EXPECT_TRUE(gathered.is_complete(1)) << "chunks 2 and 3 of 4 are rank 1's of 2";
}

TEST(Holdings, AddStepByStep) {
  Holdings holdings({.ranks = 3}, 0);
  carry_out(holdings, {reduce(2, 1)});
  EXPECT_EQ(twice(holdings, {reduce(1, 2)}), "2 has 2 twice");
  EXPECT_EQ(twice(holdings, {reduce(1, 0)}), "");
  carry_out(holdings, {reduce(1, 0)});
  EXPECT_EQ(holdings.expression(0), "(0+(1+2))");
  EXPECT_TRUE(holdings.is_complete(0));
  EXPECT_FALSE(holdings.is_canonical(0));
  carry_out(holdings, {copy(0, 1), copy(0, 2)});
  EXPECT_EQ(holdings.value(1), holdings.value(2));
}

TEST(Holdings, CombineWhatMeetsInAStepAlongTheBinaryTreeOverItsRanks) {
  for (const int own : {0, 2, 4}) {
    Holdings holdings({.ranks = 5}, 0);
    std::vector<Transfer> step;
    for (const int rank : {3, 4, 1, 0, 2}) {
      if (rank != own) step.push_back(reduce(rank, own));
    }
    carry_out(holdings, step);
    EXPECT_EQ(holdings.expression(own), "(((0+1)+(2+3))+4)");
    EXPECT_TRUE(holdings.is_canonical(own));
  }
}

TEST(Holdings, APartialSumStandsAtThePlaceOfWhoHoldsIt) {
  Holdings holdings({.ranks = 4}, 0);
  carry_out(holdings, {reduce(3, 0)});
  carry_out(holdings, {reduce(0, 2), reduce(1, 2)});
  EXPECT_EQ(holdings.expression(2), "(((0+3)+1)+2)");
}

TEST(Holdings, AnExchangeReadsWhatWasThereBefore) {
  Holdings holdings({.ranks = 2}, 0);
  carry_out(holdings, {reduce(0, 1), reduce(1, 0)});
  EXPECT_EQ(holdings.expression(0), "(0+1)");
  EXPECT_EQ(holdings.value(0), holdings.value(1));
}

TEST(Holdings, TheSumOfTwoIsTheSameWhicheverComesFirst) {
  Holdings holdings({.ranks = 4}, 0);
  carry_out(holdings, {reduce(1, 0), reduce(2, 3)});
  carry_out(holdings, {reduce(0, 2), reduce(3, 1)});
  EXPECT_EQ(holdings.expression(1), "(1+(2+3))");
  EXPECT_EQ(holdings.expression(2), "((0+1)+2)");
  Holdings swapped({.ranks = 4}, 0);
  carry_out(swapped, {reduce(1, 0), reduce(2, 3)});
  carry_out(swapped, {reduce(0, 3), reduce(3, 0)});
  EXPECT_EQ(swapped.value(0), swapped.value(3));
  EXPECT_TRUE(swapped.is_canonical(0));
}

/// What rank 0 stores as (0+1) and (2+3) rank 1 sums in one step, and rounds nothing in between.
TEST(Holdings, ASumThatIsStoredIsAnotherThanTheSameWithinAStep) {
  Holdings holdings({.ranks = 4}, 0);
  carry_out(holdings, {reduce(1, 0), reduce(3, 2), reduce(0, 1), reduce(2, 1), reduce(3, 1)});
  carry_out(holdings, {reduce(2, 0)});
  EXPECT_EQ(holdings.expression(0), "((0+1)+(2+3))");
  EXPECT_EQ(holdings.expression(1), holdings.expression(0));
  EXPECT_NE(holdings.value(1), holdings.value(0));
  EXPECT_TRUE(holdings.in_same_order(1, 0));
  EXPECT_TRUE(holdings.is_canonical(0));
  EXPECT_TRUE(holdings.is_canonical(1));
}

TEST(Holdings, CountContributionsBeyondOneWord) {
  Holdings holdings({.ranks = 130}, 0);
  for (int rank = 1; rank < 130; ++rank) carry_out(holdings, {reduce(rank, 0)});
  EXPECT_TRUE(holdings.is_complete(0));
  EXPECT_EQ(twice(holdings, {reduce(129, 0)}), "0 has 129 twice");
}

TEST(Holdings, AContributionThatTwoSourcesBringIsCountedTwice) {
  Holdings holdings({.ranks = 4}, 0);
  carry_out(holdings, {reduce(1, 2), reduce(1, 3)});
  EXPECT_EQ(twice(holdings, {reduce(2, 0), reduce(3, 0)}), "0 has 1 twice");
}

}  // namespace lockstep
