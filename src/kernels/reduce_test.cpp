#include "kernels/operands_for_tests.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep::kernels {

namespace {

constexpr int kDivisors[] = {1, 2, 3, 7, 8, 300};

/// A trial of everything that is not given, drawn at random.
Trial drawn(DataType dtype, ReduceOp op, std::mt19937_64& random) {
  Trial trial{.dtype = dtype, .op = op};
  trial.operands = 1 + random() % 9;
  trial.targets = 1 + random() % 9;
  trial.divide_by = kDivisors[random() % std::size(kDivisors)];
  trial.streamed = random() % (trial.targets + 1);
  trial.asks_early = random() % 2 == 0;
  trial.in_place = random() % (std::min(trial.operands, trial.targets) + 1);
  trial.copies = random() % 2 == 0;
  trial.aligned = random() % 2 == 0;
  return trial;
}

}  // namespace

TEST(Reduce, IsTheScalarOneBitForBitAtEverySize) {
  std::mt19937_64 random(7);
  for (const DataType dtype : kDataTypes) {
    for (const ReduceOp op : kReduceOps) {
      for (std::size_t count = 0; count <= 300; ++count) {
        Trial trial = drawn(dtype, op, random);
        trial.count = count;
        ASSERT_TRUE(agrees_with_scalar(trial, random)) << trial;
      }
    }
  }
}

TEST(Reduce, IsTheScalarOneBitForBitForEveryNumberOfOperands) {
  std::mt19937_64 random(8);
  for (const DataType dtype : kDataTypes) {
    for (const ReduceOp op : kReduceOps) {
      for (const std::size_t operands : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 17U}) {
        for (const std::size_t streamed : {0U, 1U, 9U}) {
          Trial trial = drawn(dtype, op, random);
          trial.operands = operands;
          trial.in_place = std::min(trial.in_place, operands);
          trial.streamed = std::min(streamed, trial.targets);
          for (const std::size_t count : {127U, 1021U}) {
            trial.count = count;
            ASSERT_TRUE(agrees_with_scalar(trial, random)) << trial;
          }
        }
      }
    }
  }
}

TEST(Reduce, TakesManyOperandsAndLongRuns) {
  std::mt19937_64 random(9);
  for (const DataType dtype : kDataTypes) {
    for (const std::size_t streamed : {0U, 1U, 2U}) {
      const Trial many{.dtype = dtype, .op = ReduceOp::kMean, .count = 517, .operands = 64, .divide_by = 64};
      EXPECT_TRUE(agrees_with_scalar(many, random)) << many;
      const Trial copy{.dtype = dtype, .count = 5003, .operands = 1, .targets = 3, .streamed = streamed};
      EXPECT_TRUE(agrees_with_scalar(copy, random)) << copy;
      const Trial pair{
          .dtype = dtype, .count = 5003, .targets = 2, .streamed = streamed, .asks_early = true, .in_place = 2};
      EXPECT_TRUE(agrees_with_scalar(pair, random)) << pair;
    }
  }
}

TEST(Reduce, IsTheScalarOneBitForBitFromWhereItWorksInTwoPlacesOn) {
  std::mt19937_64 random(10);
  for (const DataType dtype : kDataTypes) {
    for (const ReduceOp op : kReduceOps) {
      const std::size_t two_pages = 8192 / size_of(dtype);
      for (const std::size_t count : {two_pages - 1, two_pages, two_pages + 1, 2 * two_pages + 77}) {
        Trial trial = drawn(dtype, op, random);
        trial.operands = 1 + random() % 3;
        trial.in_place = std::min(trial.in_place, trial.operands);
        trial.count = count;
        ASSERT_TRUE(agrees_with_scalar(trial, random)) << trial;
      }
    }
  }
}

TEST(Reduce, CombinesPairsAndThenPairsOfPairs) {
  // Half a unit of 1: alone it is lost against 1, two together are not.
  const float one = 1;
  const float small = 0x1p-24F;
  const float minus = -1;
  const void* operands[] = {&one, &small, &small, &small, &minus};
  float result = 0;
  void* targets[] = {&result};
  reduce({targets, 1, operands, 5, 1, DataType::kFloat32, ReduceOp::kSum});
  EXPECT_EQ(result, 0x1p-23F) << "((1 + s) + (s + s)) - 1; from left to right it would be 0";
}

TEST(Reduce, SixteenBitFloatsAreRoundedOnceAndNotAfterEveryOperand) {
  // 1 + 1/512 + 1/512: each addend alone is below half a unit of bfloat16's 1/128, all four together make one half, to
  // even.
  std::uint16_t target = 0x3f80;
  const std::uint16_t small = 0x3b00;
  std::vector<const void*> operands(7, &small);
  operands.front() = &target;
  void* targets[] = {&target};
  reduce({targets, 1, operands.data(), operands.size(), 1, DataType::kBFloat16, ReduceOp::kSum});
  EXPECT_EQ(target, 0x3f82) << "1 + 6/512 is 1.5 units, which rounds to 2";
}

TEST(Reduce, AMeanOfIntegersRoundsTowardZero) {
  std::vector<std::int32_t> target(37, -7);
  const std::vector<std::int32_t> other(37, 0);
  const void* operands[] = {target.data(), other.data()};
  void* targets[] = {target.data()};
  reduce({targets, 1, operands, 2, target.size(), DataType::kInt32, ReduceOp::kMean, 2});
  EXPECT_EQ(target, std::vector<std::int32_t>(37, -3));
}

TEST(Reduce, WhatIsCopiedBesideTakesAnOperandsPlaceOnceThatIsRead) {
  std::vector<float> operand(37, 2);
  std::vector<float> target(37, 1);
  const std::vector<float> next(37, 5);
  const void* operands[] = {operand.data(), target.data()};
  void* targets[] = {target.data()};
  reduce({.targets = targets,
          .target_count = 1,
          .operands = operands,
          .operand_count = 2,
          .count = target.size(),
          .dtype = DataType::kFloat32,
          .op = ReduceOp::kSum,
          .copy_target = operand.data(),
          .copy_source = next.data()});
  EXPECT_EQ(target, std::vector<float>(37, 3));
  EXPECT_EQ(operand, next);
}

TEST(Reduce, OneOperandIsCopiedWithThePayloadOfItsNaNs) {
  const std::vector<std::uint32_t> source(37, 0xffc12345);
  std::vector<std::uint32_t> one(37);
  std::vector<std::uint32_t> two(37);
  const void* operands[] = {source.data()};
  void* targets[] = {one.data(), two.data()};
  reduce({targets, 2, operands, 1, source.size(), DataType::kFloat32, ReduceOp::kSum});
  EXPECT_EQ(one, source);
  EXPECT_EQ(two, source);
}

}  // namespace lockstep::kernels
