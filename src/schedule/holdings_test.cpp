#include "schedule/holdings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Transfer reduce(int from, int to) { return {TransferKind::kReduce, 0, from, to}; }
constexpr Transfer copy(int from, int to) { return {TransferKind::kCopy, 0, from, to}; }

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

TEST(Holdings, AddInTheOrderOfTransfers) {
  Holdings holdings({.ranks = 3}, 0);
  holdings.apply(reduce(1, 0));
  EXPECT_EQ(holdings.shared_contribution(0, 1), 1);
  EXPECT_EQ(holdings.shared_contribution(0, 2), std::nullopt);
  holdings.apply(reduce(0, 2));
  EXPECT_EQ(holdings.expression(2), "(2+(0+1))");
  EXPECT_TRUE(holdings.is_complete(2));
  holdings.apply(copy(2, 0));
  EXPECT_EQ(holdings.value(0), holdings.value(2));
}

TEST(Holdings, CountContributionsBeyondOneWord) {
  Holdings holdings({.ranks = 130}, 0);
  for (int rank = 1; rank < 130; ++rank) holdings.apply(reduce(rank, 0));
  EXPECT_TRUE(holdings.is_complete(0));
  EXPECT_EQ(holdings.shared_contribution(0, 129), 129);
}

}  // namespace lockstep
