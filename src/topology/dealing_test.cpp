#include "topology/dealing.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Dealing, NeighboursShareAndEverybodyHasAShare) {
  for (int shares = 1; shares <= 5; ++shares) {
    for (int ranks = shares; ranks <= 12; ++ranks) {
      for (int rank = 0; rank < ranks; ++rank) {
        const int share = share_of(rank, ranks, shares);
        EXPECT_LE(first_on(share, ranks, shares), rank);
        EXPECT_LT(rank, first_on(share + 1, ranks, shares));
      }
      EXPECT_EQ(first_on(shares, ranks, shares), ranks);
    }
  }
}

TEST(Dealing, OfThreeRanksOnTwoCoresTheLastIsAlone) {
  EXPECT_FALSE(has_core_alone({.rank = 0, .ranks = 3}, 2));
  EXPECT_FALSE(has_core_alone({.rank = 1, .ranks = 3}, 2));
  EXPECT_TRUE(has_core_alone({.rank = 2, .ranks = 3}, 2));
}

TEST(Dealing, WhoAreNoMoreThanTheCoresAreAlone) {
  EXPECT_TRUE(has_core_alone({.rank = 1, .ranks = 2}, 2));
  EXPECT_TRUE(has_core_alone({.rank = 1, .ranks = 2}, 64));
  for (int rank = 0; rank < 4; ++rank) EXPECT_FALSE(has_core_alone({.rank = rank, .ranks = 4}, 2));
}

}  // namespace lockstep
