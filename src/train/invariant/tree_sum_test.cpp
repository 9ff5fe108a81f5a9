#include "train/invariant/tree_sum.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

torch::Tensor number(float value) { return torch::full({1}, value); }

TEST(TreeSum, PairsNeighboursThenPairs) {
  // In float32, (2^24 + 1) + (1 + 1) is 2^24 + 2, and one after the other 2^24.
  TreeSum sum;
  for (const float value : {16777216.0F, 1.0F, 1.0F, 1.0F}) sum.add({number(value), number(1)});
  const auto result = sum.take();
  EXPECT_EQ(result[0].item<float>(), 16777218.0F);
  EXPECT_EQ(result[1].item<float>(), 4.0F);
  EXPECT_EQ(16777216.0F + 1.0F + 1.0F + 1.0F, 16777216.0F) << "the order matters here";
}

TEST(TreeSum, SubtreesSummedApartGiveTheSame) {
  torch::manual_seed(1);
  const auto values = torch::randn({8, 100});
  TreeSum whole;
  for (int v = 0; v < 8; ++v) whole.add({values[v].clone()});
  TreeSum top;
  for (int rank = 0; rank < 2; ++rank) {
    TreeSum own;
    for (int v = 4 * rank; v < 4 * rank + 4; ++v) own.add({values[v].clone()});
    top.add(own.take());
  }
  EXPECT_TRUE(torch::equal(whole.take()[0], top.take()[0]));
}

TEST(TreeSum, IsEmptyAfterTake) {
  TreeSum sum;
  sum.add({number(1)});
  EXPECT_EQ(sum.take()[0].item<float>(), 1);
  sum.add({number(2)});
  EXPECT_EQ(sum.take()[0].item<float>(), 2);
}

}  // namespace
}  // namespace lockstep
