// What a thread has set of its floats' rounding and subnormals shows in no sum, and stays as it was.
#include "kernels/float_mode.h"
#include "kernels/operands_for_tests.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace lockstep::kernels {

namespace {

#ifdef __SSE__

constexpr std::array kFloats{DataType::kFloat32, DataType::kFloat64, DataType::kBFloat16, DataType::kFloat16};
constexpr std::size_t kCount = 997;

/// Flush to zero, subnormals as zero, rounding down, up and to zero, and all of it at once.
constexpr std::array kModes{0x8000U, 0x0040U, 0x2000U, 0x4000U, 0x6000U, 0xe040U};

/// Sets some of it for as long as it lives.
class ModeOfThread {
 public:
  explicit ModeOfThread(unsigned bits) { set_float_mode(before_ | bits); }
  ~ModeOfThread() { set_float_mode(before_); }
  ModeOfThread(const ModeOfThread&) = delete;
  ModeOfThread& operator=(const ModeOfThread&) = delete;

 private:
  unsigned before_ = float_mode();
};

/// The operand with every other element made so small that it is subnormal, or its sums and products are.
Bytes with_small_ones(DataType dtype, Bytes bytes) {
  const std::size_t size = size_of(dtype);
  for (std::size_t i = 0; i < kCount; i += 2) {
    unsigned char* const high = bytes.data() + (i + 1) * size - 2;  // what holds the exponent
    high[1] &= 0x80U;
    high[0] &= i % 4 == 0 ? 0x0fU : 0x83U;
  }
  return bytes;
}

Bytes sum_of(const std::vector<Bytes>& operands, DataType dtype, ReduceOp op,
             void (*reduce_by)(const ReduceArguments&)) {
  Bytes result(operands.front().size());
  void* target = result.data();
  std::vector<const void*> pointers;
  for (const Bytes& operand : operands) pointers.push_back(operand.data());
  reduce_by({.targets = &target,
             .target_count = 1,
             .operands = pointers.data(),
             .operand_count = pointers.size(),
             .count = kCount,
             .dtype = dtype,
             .op = op,
             .divide_by = op == ReduceOp::kMean ? 3 : 1});
  return result;
}

TEST(FloatMode, OfTheCallerShowsInNoReduction) {
  std::mt19937_64 random(3);
  for (const DataType dtype : kFloats) {
    std::vector<Bytes> operands;
    for (int i = 0; i < 3; ++i) operands.push_back(with_small_ones(dtype, random_operand(dtype, kCount, random)));
    for (const ReduceOp op : kReduceOps) {
      for (auto* const reduce_by : {&reduce, &reduce_scalar}) {
        const Bytes expected = sum_of(operands, dtype, op, reduce_by);
        for (const unsigned mode : kModes) {
          const ModeOfThread set(mode);
          EXPECT_EQ(sum_of(operands, dtype, op, reduce_by), expected)
              << to_string(dtype) << " " << to_string(op) << " under " << mode;
        }
      }
    }
  }
}

TEST(FloatMode, IsTheCallersAgainAfterwards) {
  constexpr unsigned kDivisionByZeroTraps = 0x0200;  // cleared
  for (const unsigned mode : kModes) {
    const ModeOfThread set(mode);
    set_float_mode(float_mode() & ~kDivisionByZeroTraps);
    const unsigned before = float_mode();
    {
      const DefaultFloatMode here;
      EXPECT_EQ(float_mode(), before & ~mode) << "its traps stay";
    }
    EXPECT_EQ(float_mode(), before);
  }
}

TEST(FloatMode, KeepsWhatIsSubnormal) {
  const ModeOfThread set(0x8040);
  const Bytes small{0xc2, 0x16, 0x01, 0x00};  // 1e-40
  void* target = nullptr;
  Bytes sum(small.size());
  target = sum.data();
  const std::array<const void*, 2> operands{small.data(), small.data()};
  reduce({&target, 1, operands.data(), operands.size(), 1, DataType::kFloat32, ReduceOp::kSum});
  EXPECT_EQ(sum, (Bytes{0x84, 0x2d, 0x02, 0x00}));
}

#else

TEST(FloatMode, IsOfX86) { GTEST_SKIP() << "this machine's register of it is not read"; }

#endif

}  // namespace

}  // namespace lockstep::kernels
