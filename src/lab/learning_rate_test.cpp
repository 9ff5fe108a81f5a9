#include "lab/learning_rate.h"

#include <gtest/gtest.h>

namespace lockstep::lab {

TEST(LearningRate, WarmsUpLinearly) {
  const LearningRate rate{.peak = 1e-3, .minimum = 1e-4, .warmup = 4, .decay = 104};
  EXPECT_DOUBLE_EQ(rate.at(1), 1e-3 / 5);
  EXPECT_DOUBLE_EQ(rate.at(4), 1e-3 * 4 / 5);
  EXPECT_DOUBLE_EQ(rate.at(5), 1e-3);
}

TEST(LearningRate, DecaysAsACosineAndStaysAtTheMinimum) {
  const LearningRate rate{.peak = 1e-3, .minimum = 1e-4, .warmup = 4, .decay = 104};
  EXPECT_NEAR(rate.at(55), (1e-3 + 1e-4) / 2, 1e-12) << "half way";
  for (int i = 6; i <= 104; ++i) EXPECT_LT(rate.at(i), rate.at(i - 1));
  EXPECT_DOUBLE_EQ(rate.at(105), 1e-4);
  EXPECT_DOUBLE_EQ(rate.at(100000), 1e-4);
}

TEST(LearningRate, NeedsNoWarmup) {
  const LearningRate rate{.peak = 1e-3, .minimum = 0, .warmup = 0, .decay = 10};
  EXPECT_DOUBLE_EQ(rate.at(1), 1e-3);
}

TEST(LearningRate, AWarmupThatFillsTheRunIsNoDivisionByZero) {
  const LearningRate rate{.peak = 1e-3, .minimum = 1e-4, .warmup = 10, .decay = 10};
  EXPECT_DOUBLE_EQ(rate.at(10), 1e-2 / 11);
  EXPECT_DOUBLE_EQ(rate.at(11), 1e-4);
}

}  // namespace lockstep::lab
