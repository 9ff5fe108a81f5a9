#include "topology/dealing.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <vector>

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
  EXPECT_TRUE(has_core_alone({.rank = 2, .ranks = 3}, std::numeric_limits<int>::max()));
  for (int rank = 0; rank < 4; ++rank) EXPECT_FALSE(has_core_alone({.rank = rank, .ranks = 4}, 2));
}

TEST(Dealing, AGroupHasTheCoresThatItsRanksAreDealtTo) {
  const auto cores_of = [](std::initializer_list<int> ranks, int of, int cores) {
    std::vector<RankHere> group;
    for (const int rank : ranks) group.push_back({.rank = rank, .ranks = of});
    return cores_of_group(group, cores);
  };
  const GroupCores neighbours = cores_of({2, 3}, 4, 2);
  EXPECT_EQ(neighbours.count, 1);
  EXPECT_FALSE(neighbours.shared);
  EXPECT_TRUE(neighbours.take_turns(2));
  const GroupCores dealt_out = cores_of({1, 3}, 4, 2);
  EXPECT_EQ(dealt_out.count, 2);
  EXPECT_TRUE(dealt_out.shared);
  EXPECT_TRUE(dealt_out.take_turns(2));
  const GroupCores all = cores_of({0, 1, 2, 3}, 4, 2);
  EXPECT_EQ(all.count, 2);
  EXPECT_FALSE(all.shared);
  EXPECT_TRUE(all.take_turns(4));
  const GroupCores alone = cores_of({2, 3}, 4, 8);
  EXPECT_EQ(alone.count, 8);
  EXPECT_FALSE(alone.shared);
  EXPECT_FALSE(alone.take_turns(2));
  EXPECT_FALSE(cores_of({2}, 3, 2).shared) << "of three on two cores the last is alone";
  EXPECT_TRUE(cores_of({0, 2}, 3, 2).shared);
}

}  // namespace lockstep
