#include "kernels/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace lockstep::kernels {

namespace {

template <class T>
T reduced(DataType dtype, ReduceOp op, T a, T b, int divide_by = 1) {
  const void* operands[] = {&a, &b};
  T result{};
  void* targets[] = {&result};
  reduce_scalar({targets, 1, operands, 2, 1, dtype, op, divide_by});
  return result;
}

std::uint16_t half_sum(std::uint16_t a, std::uint16_t b) { return reduced(DataType::kFloat16, ReduceOp::kSum, a, b); }
std::uint16_t brain_sum(std::uint16_t a, std::uint16_t b) { return reduced(DataType::kBFloat16, ReduceOp::kSum, a, b); }

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST(ReduceScalar, CombinesAndDivides) {
  EXPECT_EQ(reduced(DataType::kFloat32, ReduceOp::kSum, 1.5F, 2.0F), 3.5F);
  EXPECT_EQ(reduced(DataType::kFloat32, ReduceOp::kMean, 1.5F, 2.0F, 2), 1.75F);
  EXPECT_EQ(reduced(DataType::kFloat64, ReduceOp::kProduct, 1.5, 2.0), 3.0);
  EXPECT_EQ(reduced<std::int64_t>(DataType::kInt64, ReduceOp::kMin, -4, 3), -4);
  EXPECT_EQ(reduced<std::uint8_t>(DataType::kUInt8, ReduceOp::kMax, 4, 200), 200);
}

TEST(ReduceScalar, CombinesPairsAndThenPairsOfPairsForEveryTarget) {
  // 2^53 takes no 1 alone, but takes two of them together.
  const double large = 0x1p53;
  const double one = 1;
  const double none = 0;
  const auto sum = [](std::vector<const void*> operands) {
    double results[2] = {};
    void* targets[] = {&results[0], &results[1]};
    reduce_scalar({targets, 2, operands.data(), operands.size(), 1, DataType::kFloat64, ReduceOp::kSum});
    EXPECT_EQ(results[0], results[1]);
    return results[0] - 0x1p53;
  };
  EXPECT_EQ(sum({&large, &one, &one}), 0) << "(l + 1) + 1";
  EXPECT_EQ(sum({&large, &none, &one, &one}), 2) << "(l + 0) + (1 + 1)";
  EXPECT_EQ(sum({&large, &none, &none, &none, &one}), 0) << "((l + 0) + (0 + 0)) + 1";
  EXPECT_EQ(sum({&large, &none, &none, &none, &one, &one}), 2) << "((l + 0) + (0 + 0)) + (1 + 1)";
  EXPECT_EQ(sum({&large, &one, &none, &none, &one, &one, &none}), 2) << "((l + 1) + (0 + 0)) + ((1 + 1) + 0)";
}

TEST(ReduceScalar, IntegersWrapAround) {
  EXPECT_EQ(reduced<std::int32_t>(DataType::kInt32, ReduceOp::kSum, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(reduced<std::int64_t>(DataType::kInt64, ReduceOp::kProduct, INT64_MIN, 2), 0);
  EXPECT_EQ(reduced<std::uint8_t>(DataType::kUInt8, ReduceOp::kSum, 200, 100), 44);
}

TEST(ReduceScalar, ANaNStaysAndLosesItsPayload) {
  const auto strange = std::bit_cast<float>(0xffc12345U);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(reduced(DataType::kFloat32, op, strange, 1.0F)), 0x7fc00000U);
    EXPECT_TRUE(std::isnan(reduced(DataType::kFloat32, op, 1.0F, kNaN)));
  }
  EXPECT_EQ(half_sum(0xfc01, 0x3c00), 0x7e00);
  EXPECT_EQ(brain_sum(0xffff, 0x3f80), 0x7fc0);
}

TEST(ReduceScalar, MinusZeroIsTheLesser) {
  EXPECT_TRUE(std::signbit(reduced(DataType::kFloat32, ReduceOp::kMin, 0.0F, -0.0F)));
  EXPECT_FALSE(std::signbit(reduced(DataType::kFloat32, ReduceOp::kMax, -0.0F, 0.0F)));
}

TEST(ReduceScalar, SixteenBitFloatsRoundToNearestEven) {
  // bfloat16: one unit at 1.0 is 2^-7 (0x3c00); half of one is 0x3b80.
  EXPECT_EQ(brain_sum(0x3f80, 0x3b80), 0x3f80) << "a tie goes to the even neighbour below";
  EXPECT_EQ(brain_sum(0x3f81, 0x3b80), 0x3f82) << "a tie goes to the even neighbour above";
  EXPECT_EQ(brain_sum(0x3f80, 0x3b81), 0x3f81) << "just over a tie";
  EXPECT_EQ(brain_sum(0x7f7f, 0x7f7f), 0x7f80) << "overflow is infinity";
  // float16: one unit at 1.0 is 2^-10 (0x1400); half of one is 0x1000.
  EXPECT_EQ(half_sum(0x3c00, 0x1000), 0x3c00);
  EXPECT_EQ(half_sum(0x3c01, 0x1000), 0x3c02);
  EXPECT_EQ(half_sum(0x3c00, 0x1001), 0x3c01);
  EXPECT_EQ(half_sum(0x7bff, 0x7bff), 0x7c00);
  EXPECT_EQ(half_sum(0x7bff, 0x4c00), 0x7c00) << "65504 + 16 is halfway to 65536, which is infinity";
  EXPECT_EQ(half_sum(0x7bff, 0x4b00), 0x7bff) << "65504 + 14 is below halfway";
}

TEST(ReduceScalar, Float16KeepsItsSubnormals) {
  EXPECT_EQ(half_sum(0x0001, 0x0001), 0x0002);
  EXPECT_EQ(half_sum(0x03ff, 0x0001), 0x0400) << "the largest subnormal and one unit are the smallest normal";
  EXPECT_EQ(reduced<std::uint16_t>(DataType::kFloat16, ReduceOp::kMean, 0x0001, 0x0000, 2), 0x0000);
  EXPECT_EQ(reduced<std::uint16_t>(DataType::kFloat16, ReduceOp::kMean, 0x0003, 0x0000, 2), 0x0002);
}

TEST(ReduceScalar, EverySixteenBitFloatThatIsNoNaNComesBackAsItWas) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = static_cast<std::uint16_t>(bits);
    if ((bits & 0x7fff) <= 0x7c00) {
      EXPECT_EQ(reduced<std::uint16_t>(DataType::kFloat16, ReduceOp::kMax, value, 0xfc00), value);
    }
    if ((bits & 0x7fff) <= 0x7f80) {
      EXPECT_EQ(reduced<std::uint16_t>(DataType::kBFloat16, ReduceOp::kMax, value, 0xff80), value);
    }
  }
}

}  // namespace lockstep::kernels
