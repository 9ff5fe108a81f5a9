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
  const auto expect = [&](std::initializer_list<int> of_four, int cores, int count, bool shared, bool take_turns) {
    const GroupCores found = cores_of(of_four, 4, cores);
    EXPECT_EQ(found.count, count);
    EXPECT_EQ(found.shared, shared);
    EXPECT_EQ(found.take_turns(static_cast<int>(of_four.size())), take_turns);
  };
  expect({2, 3}, 2, 1, false, true);
  expect({1, 3}, 2, 2, true, true);
  expect({0, 1, 2, 3}, 2, 2, false, true);
  expect({2, 3}, 8, 8, false, false);
  EXPECT_FALSE(cores_of({2}, 3, 2).shared) << "of three on two cores the last is alone";
  EXPECT_TRUE(cores_of({0, 2}, 3, 2).shared);
}

}  // namespace lockstep
