#include "train/permutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using Indices = std::vector<std::size_t>;

TEST(Permutation, IsThatOfTheDocumentedAlgorithm) {
  // Golden values, from a second implementation (in Python): a checkpoint made on one platform must go on the same way
  // on another.
  EXPECT_THAT(permutation(8, 0, 0), ElementsAre(7, 1, 0, 6, 3, 2, 4, 5));
  EXPECT_THAT(permutation(8, 7, 4), ElementsAre(4, 6, 7, 1, 2, 5, 3, 0));
}

TEST(Permutation, HoldsEveryIndexOnce) {
  for (std::size_t size : {0, 1, 2, 3, 17, 1000}) {
    auto order = permutation(size, 3, 4);
    std::sort(order.begin(), order.end());
    Indices expected(size);
    std::iota(expected.begin(), expected.end(), std::size_t{0});
    EXPECT_EQ(order, expected);
  }
}

TEST(Permutation, DependsOnSeedAndEpoch) {
  EXPECT_EQ(permutation(100, 1, 2), permutation(100, 1, 2));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 1, 3));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 2, 2));
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 2, 1));
}

TEST(Permutation, IsUniform) {
  // 24 orders of 4 samples over 24,000 epochs: chi-square with 23 degrees of freedom is above 49.7 once in a thousand.
  std::vector<int> counts(256);
  const int epochs = 24000;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const auto order = permutation(4, 11, static_cast<std::uint64_t>(epoch));
    ++counts[order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3]];
  }
  double chi_square = 0;
  int seen = 0;
  for (int count : counts) {
    if (count == 0) continue;
    ++seen;
    chi_square += (count - epochs / 24.0) * (count - epochs / 24.0) / (epochs / 24.0);
  }
  EXPECT_EQ(seen, 24);
  EXPECT_LT(chi_square, 49.7);
}

}  // namespace
}  // namespace lockstep
