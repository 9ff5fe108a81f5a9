#include "train/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Samples of each rank.
std::vector<std::uint64_t> counts(const Shares& shares, std::uint64_t m) {
  std::vector<std::uint64_t> result;
  for (int rank = 0; rank < shares.ranks(); ++rank) result.push_back(shares.begin(rank + 1, m) - shares.begin(rank, m));
  return result;
}

std::vector<double> fractions(const Shares& shares) {
  std::vector<double> result;
  for (int rank = 0; rank < shares.ranks(); ++rank) result.push_back(shares.fraction(rank));
  return result;
}

TEST(Shares, EqualOnesCutAsTheyAlwaysHave) {
  for (int p = 1; p <= 9; ++p) {
    const Shares equal(p);
    const Shares weighted(std::vector<double>(static_cast<std::size_t>(p), 0.3));
    for (std::uint64_t m = 0; m < 100; ++m) {
      for (int r = 0; r <= p; ++r) {
        const auto begin = m * static_cast<std::uint64_t>(r) / static_cast<std::uint64_t>(p);
        EXPECT_EQ(equal.begin(r, m), begin);
        EXPECT_EQ(weighted.begin(r, m), begin);
      }
    }
  }
}

TEST(Shares, AreInProportionToWeights) {
  EXPECT_THAT(counts(Shares({1, 3}), 8), ElementsAre(2, 6));
  EXPECT_THAT(counts(Shares({0.5, 0.25, 0.25}), 16), ElementsAre(8, 4, 4));
  EXPECT_THAT(counts(Shares({1, 0, 1}), 7), ElementsAre(3, 0, 4));
  EXPECT_THAT(counts(Shares({2, 1, 4}), 14), ElementsAre(4, 2, 8));
  EXPECT_THAT(counts(Shares({1e300, 1e300}), 4), ElementsAre(2, 2));
}

TEST(Shares, LoseAndDoubleNothing) {
  const Shares shares({0.1, 7, 1e-9, 2.3});
  for (std::uint64_t m = 0; m < 1000; ++m) {
    const auto parts = counts(shares, m);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}), m);
    EXPECT_NEAR(static_cast<double>(parts[1]), static_cast<double>(m) * 7 / 9.4, 1.001);
  }
}

TEST(Shares, RefuseWhatIsNoWeight) {
  const auto made_of = [](std::vector<double> weights) { return [weights] { Shares shares(weights); }; };
  EXPECT_THAT(made_of({1, -0.5}), ThrowsMessage<Error>(HasSubstr("rank 1's is -0.5")));
  EXPECT_THAT(made_of({std::nan(""), 1}), ThrowsMessage<Error>(HasSubstr("rank 0's is nan")));
  EXPECT_THAT(made_of({1, std::numeric_limits<double>::infinity()}), ThrowsMessage<Error>(HasSubstr("their sum inf")));
  EXPECT_THAT(made_of({0, 0}), ThrowsMessage<Error>(HasSubstr("their sum 0")));
}

TEST(SharesBySpeed, GoByWorkOverTime) {
  const Shares before(2);
  EXPECT_THAT(fractions(shares_by_speed(before, {100, 100}, {1, 3})), ElementsAre(0.75, 0.25));
  // The next round: each has what it can do in the same time, and nothing changes.
  EXPECT_THAT(fractions(shares_by_speed(Shares({3, 1}), {150, 50}, {1.5, 1.5})), ElementsAre(0.75, 0.25));
}

TEST(SharesBySpeed, KeepTheShareOfARankThatHadNothing) {
  EXPECT_THAT(fractions(shares_by_speed(Shares({1, 1, 2}), {10, 0, 30}, {1, 0, 1})), ElementsAre(0.1875, 0.25, 0.5625));
}

TEST(SharesBySpeed, RefuseTimesThatAreNone) {
  const auto timed = [](std::vector<double> work, double seconds) {
    return [work, seconds] { shares_by_speed(Shares(2), work, {1, seconds}); };
  };
  EXPECT_THAT(timed({1, 1}, 0), ThrowsMessage<Error>(HasSubstr("Rank 1 says that its samples took 0 seconds")));
  EXPECT_THAT(timed({1, 1}, -2), ThrowsMessage<Error>(HasSubstr("took -2 seconds")));
  EXPECT_THAT(timed({1, 1}, std::nan("")), ThrowsMessage<Error>(HasSubstr("took nan seconds")));
  EXPECT_THAT(timed({0, 0}, 1), ThrowsMessage<Error>(HasSubstr("No rank was given a sample")));
}

TEST(CutByLength, GivesFewerOfTheLonger) {
  EXPECT_THAT(cut_by_length({8, 4, 2, 2}, Shares(2)), ElementsAre(0, 1, 4));
  EXPECT_THAT(cut_by_length({9, 9, 9, 3, 3, 3, 3, 3, 3, 3, 3, 3}, Shares(3)), ElementsAre(0, 2, 6, 12));
  EXPECT_THAT(cut_by_length({4, 4, 4, 4}, Shares({3, 1})), ElementsAre(0, 3, 4));
  EXPECT_THAT(cut_by_length({5, 5}, Shares({0, 1, 1})), ElementsAre(0, 0, 1, 2));
}

TEST(CutByLength, SharesOfEqualLengthsDifferByAtMostOne) {
  for (std::size_t m = 1; m < 40; ++m) {
    for (int p = 1; p <= 7; ++p) {
      const auto cuts = cut_by_length(std::vector<std::int64_t>(m, 12), Shares(p));
      ASSERT_EQ(cuts.size(), static_cast<std::size_t>(p) + 1);
      EXPECT_EQ(cuts.back(), m);
      for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
        EXPECT_LE(cuts[r + 1] - cuts[r], m / static_cast<std::size_t>(p) + 1);
        EXPECT_GE(cuts[r + 1] - cuts[r] + 1, m / static_cast<std::size_t>(p));
      }
    }
  }
}

TEST(CutByLength, LeavesNoRankWithoutSamplesWhereEachCouldHaveOne) {
  EXPECT_THAT(cut_by_length({7, 7, 7}, Shares(3)), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace lockstep
