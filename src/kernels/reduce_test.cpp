#include "kernels/operands_for_tests.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep::kernels {

TEST(Reduce, IsTheScalarOneBitForBit) {
  std::mt19937_64 random(7);
  constexpr int kDivisors[] = {1, 2, 3, 7, 300};
  for (const DataType dtype : kDataTypes) {
    for (const ReduceOp op : kReduceOps) {
      for (std::size_t count = 0; count <= 300; ++count) {
        for (const std::size_t sources : {0U, 1U, 2U, 5U}) {
          const Trial trial{dtype, op, count, sources, random() % 5, kDivisors[random() % 5]};
          ASSERT_TRUE(agrees_with_scalar(trial, random))
              << to_string(dtype) << " " << to_string(op) << " count " << count << " sources " << sources << " offset "
              << trial.offset << " divided by " << trial.divide_by;
        }
      }
    }
  }
}

TEST(Reduce, TakesManySourcesAndLongRuns) {
  std::mt19937_64 random(8);
  for (const DataType dtype : kDataTypes) {
    EXPECT_TRUE(agrees_with_scalar({dtype, ReduceOp::kMean, 5000, 63, 1, 64}, random)) << to_string(dtype);
  }
}

TEST(Reduce, SixteenBitFloatsAreRoundedOnceAndNotAfterEverySource) {
  // 1 + 1/512 + 1/512: each addend alone is below half a unit of bfloat16's 1/128, all four together make one half, to
  // even.
  std::uint16_t target = 0x3f80;
  const std::uint16_t small = 0x3b00;
  std::vector<const void*> sources(6, &small);
  reduce({&target, sources.data(), sources.size(), 1, DataType::kBFloat16, ReduceOp::kSum});
  EXPECT_EQ(target, 0x3f82) << "1 + 6/512 is 1.5 units, which rounds to 2";
}

TEST(Reduce, AMeanOfIntegersRoundsTowardZero) {
  std::vector<std::int32_t> target(37, -7);
  const std::vector<std::int32_t> source(37, 0);
  const void* sources[] = {source.data()};
  reduce({target.data(), sources, 1, target.size(), DataType::kInt32, ReduceOp::kMean, 2});
  EXPECT_EQ(target, std::vector<std::int32_t>(37, -3));
}

}  // namespace lockstep::kernels
