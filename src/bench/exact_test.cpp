#include "bench/exact.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lockstep::bench {

namespace {

std::uint64_t encoded(int value, DataType dtype) {
  std::uint64_t bits = 0;
  unsigned char bytes[8] = {};
  encode(Exact(value), dtype, bytes);
  std::memcpy(&bits, bytes, size_of(dtype));
  return bits;
}

}  // namespace

TEST(Exact, EncodesSmallNumbers) {
  EXPECT_EQ(encoded(-3, DataType::kFloat32), 0xc0400000);
  EXPECT_EQ(encoded(5, DataType::kFloat64), 0x4014000000000000);
  EXPECT_EQ(encoded(-3, DataType::kBFloat16), 0xc040);
  EXPECT_EQ(encoded(1, DataType::kFloat16), 0x3c00);
  EXPECT_EQ(encoded(-3, DataType::kFloat16), 0xc200);
  EXPECT_EQ(encoded(2047, DataType::kFloat16), 0x67ff);
  EXPECT_EQ(encoded(0, DataType::kFloat16), 0);
  EXPECT_EQ(encoded(-1, DataType::kInt32), 0xffffffff);
  EXPECT_EQ(encoded(-2, DataType::kInt64), 0xfffffffffffffffe);
  EXPECT_EQ(encoded(-1, DataType::kUInt8), 0xff);
}

TEST(Exact, ProductsWrapAndStayExact) {
  Exact value(-3);
  for (int i = 0; i < 30; ++i) value *= 3;
  unsigned char byte = 0;
  encode(value, DataType::kUInt8, &byte);
  EXPECT_EQ(byte, static_cast<unsigned char>(-617673396283947LL));  // -3^31
  EXPECT_EQ(value.real, -617673396283947.0);
}

TEST(Exact, PowersEndWhereTheTypeDoes) {
  EXPECT_EQ(exact_powers(2, DataType::kFloat32, 1000), 124);  // 2^(124 + 3) is the largest exponent
  EXPECT_EQ(exact_powers(8, DataType::kFloat16, 1000), 4);
  EXPECT_EQ(exact_powers(3, DataType::kFloat32, 1000), 13);  // 8 * 3^13 < 2^24
  EXPECT_EQ(exact_powers(17, DataType::kBFloat16, 1000), 1);
  EXPECT_EQ(exact_powers(3, DataType::kInt32, 1000), 1000);
  EXPECT_EQ(exact_powers(1, DataType::kFloat32, 1000), 1000);
}

}  // namespace lockstep::bench
