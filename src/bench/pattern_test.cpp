#include "bench/pattern.h"

#include "kernels/reduce.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep::bench {

namespace {

constexpr DataType kDataTypes[] = {DataType::kFloat32, DataType::kFloat64, DataType::kBFloat16, DataType::kFloat16,
                                   DataType::kInt32,   DataType::kInt64,   DataType::kUInt8};
constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct};
constexpr std::size_t kCount = 3000;  // nearly three periods

std::vector<unsigned char> input(const Shape& shape) {
  std::vector<unsigned char> buffer(shape.bytes());
  Pattern(shape).fill(buffer.data());
  return buffer;
}

std::vector<unsigned char> combined(const std::vector<std::vector<unsigned char>>& inputs, const Shape& shape) {
  std::vector<unsigned char> result(shape.bytes());
  void* const targets[] = {result.data()};
  std::vector<const void*> operands;
  operands.reserve(inputs.size());
  for (const auto& one : inputs) operands.push_back(one.data());
  kernels::reduce_scalar({.targets = targets,
                          .target_count = 1,
                          .operands = operands.data(),
                          .operand_count = operands.size(),
                          .count = shape.count,
                          .dtype = shape.dtype,
                          .op = shape.op,
                          .divide_by = shape.op == ReduceOp::kMean ? shape.ranks : 1});
  return result;
}

/// What an all_reduce should leave, by the oracle of the kernels; `order` is who comes first.
std::vector<unsigned char> reduced(Shape shape, int first) {
  std::vector<std::vector<unsigned char>> inputs;
  for (int i = 0; i < shape.ranks; ++i) {
    shape.rank = (first + i) % shape.ranks;
    inputs.push_back(input(shape));
  }
  return combined(inputs, shape);
}

}  // namespace

TEST(Pattern, ReductionIsWhatIsExpectedWhateverTheOrder) {
  for (const DataType dtype : kDataTypes) {
    for (const ReduceOp op : kOps) {
      for (const int ranks : {2, 3, 8}) {
        const Shape shape{Collective::kAllReduce, dtype, op, 0, ranks, 0, kCount};
        const auto result = reduced(shape, 0);
        EXPECT_EQ(Pattern(shape).wrong(result.data(), 1), 0U) << to_string(dtype) << to_string(op) << ranks;
        EXPECT_EQ(result, reduced(shape, ranks - 1)) << to_string(dtype) << to_string(op) << ranks;
      }
    }
  }
}

/// However many ranks there are: sums stay where the type is exact, and what a mean divides does not wrap around.
TEST(Pattern, OfManyRanksEachPartialSumIsExact) {
  Shape shape{Collective::kAllReduce, DataType::kBFloat16, ReduceOp::kSum, 0, 131, 0, 100};
  for (const int ranks : {131, 256, 301, 1024}) {
    shape.ranks = ranks;
    for (const int stride : {1, 2}) {  // one rank after the other; the even ones, then the odd ones
      std::vector<unsigned char> sum(shape.count * size_of(shape.dtype));
      for (int first = 0; first < stride; ++first) {
        for (shape.rank = first; shape.rank < ranks; shape.rank += stride) sum = combined({sum, input(shape)}, shape);
      }
      EXPECT_EQ(Pattern(shape).wrong(sum.data(), 1), 0U) << ranks << " by " << stride;
    }
  }
  shape.dtype = DataType::kUInt8;
  shape.op = ReduceOp::kMean;
  for (const int ranks : {63, 64, 127, 128, 200, 255, 256, 300}) {
    shape.ranks = ranks;
    EXPECT_EQ(Pattern(shape).wrong(reduced(shape, 0).data(), 1), 0U) << ranks;
  }
}

TEST(Pattern, TheSameBufferCanGoInAgain) {
  for (const DataType dtype : kDataTypes) {
    for (const ReduceOp op : kOps) {
      for (const std::size_t ranks : {2U, 3U}) {
        const Shape shape{Collective::kAllReduce, dtype, op, 1, static_cast<int>(ranks), 0, kCount};
        const Pattern pattern(shape);
        ASSERT_GE(pattern.most_uses(), 1);
        std::vector<unsigned char> buffer = reduced(shape, 0);
        for (int use = 2; use <= std::min(pattern.most_uses(), 20); ++use) {
          buffer = combined(std::vector(ranks, buffer), shape);
          EXPECT_EQ(pattern.wrong(buffer.data(), use), 0U) << to_string(dtype) << to_string(op) << ranks << use;
        }
      }
    }
  }
}

TEST(Pattern, CountsWhatIsWrong) {
  const Shape shape{Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 0, 2, 0, kCount};
  const Pattern pattern(shape);
  std::vector<unsigned char> buffer = reduced(shape, 0);
  buffer[4 * 7] ^= 1;
  buffer[4 * 2999 + 3] ^= 1;
  EXPECT_EQ(pattern.wrong(buffer.data(), 1), 2U);
  pattern.fill(buffer.data());
  EXPECT_GT(pattern.wrong(buffer.data(), 1), kCount / 4) << "an operation that does nothing must show";
}

TEST(Pattern, OnlyTheDefinedPartOfAResultIsChecked) {
  const Shape shape{Collective::kReduceScatter, DataType::kInt32, ReduceOp::kSum, 1, 2, 0, kCount};
  const Pattern pattern(shape);
  std::vector<unsigned char> buffer =
      reduced({Collective::kAllReduce, DataType::kInt32, ReduceOp::kSum, 0, 2, 0, kCount}, 0);
  std::fill_n(buffer.begin(), shape.bytes() / 2, static_cast<unsigned char>(0xee));
  EXPECT_EQ(pattern.wrong(buffer.data(), 1), 0U);
  buffer.back() ^= 1;
  EXPECT_EQ(pattern.wrong(buffer.data(), 1), 1U);
  EXPECT_EQ(pattern.most_uses(), 1);
}

TEST(Pattern, BlocksThatARankDoesNotBringShow) {
  const Shape first{Collective::kAllGather, DataType::kFloat32, ReduceOp::kSum, 0, 2, 0, kCount};
  Shape second = first;
  second.rank = 1;
  std::vector<unsigned char> buffer = input(first);
  EXPECT_EQ(Pattern(first).wrong(buffer.data(), 1), kCount / 2);
  const std::vector<unsigned char> other = input(second);
  std::copy(other.begin() + other.size() / 2, other.end(), buffer.begin() + buffer.size() / 2);
  EXPECT_EQ(Pattern(first).wrong(buffer.data(), 1), 0U);
  EXPECT_EQ(Pattern(second).wrong(buffer.data(), 5), 0U);
}

TEST(Pattern, WhatComesOutMayLieApart) {
  const Shape first{Collective::kAllToAll, DataType::kFloat32, ReduceOp::kSum, 0, 2, 0, kCount};
  Shape second = first;
  second.rank = 1;
  ASSERT_EQ(Pattern(first).bytes(), 2 * first.bytes());
  std::vector<unsigned char> mine(2 * first.bytes());
  std::vector<unsigned char> other(2 * first.bytes());
  Pattern(first).fill(mine.data());
  Pattern(second).fill(other.data());
  EXPECT_EQ(Pattern(first).wrong(mine.data(), 1), kCount) << "nothing has come out";
  const auto block = static_cast<std::ptrdiff_t>(first.bytes() / 2);
  std::copy_n(mine.begin(), block, mine.begin() + 2 * block);
  std::copy_n(other.begin(), block, mine.begin() + 3 * block);
  EXPECT_EQ(Pattern(first).wrong(mine.data(), 1), 0U);
  EXPECT_EQ(Pattern(first).wrong(mine.data(), 7), 0U) << "what went in is as it was";
  mine.front() ^= 1;
  EXPECT_EQ(Pattern(first).wrong(mine.data(), 1), 1U) << "and has to be";
}

}  // namespace lockstep::bench
