#include "kernels/operands_for_tests.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace lockstep::kernels {

namespace {

/// Restores the choice of the best instruction set.
class Targets {
 public:
  ~Targets() { use(0); }
  void use(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// What is too short for Pass::in_two_places and, of as few operands as are read so, what is long enough.
std::vector<std::size_t> counts_of(std::size_t operands, DataType dtype) {
  const std::size_t few = 509 + operands;
  if (operands > 2) return {few};
  return {few, 2 * 8192 / size_of(dtype) + 77};
}

}  // namespace

TEST(ReduceTargets, EveryInstructionSetOfThisMachineGivesTheSameBits) {
  const std::int64_t all = hwy::SupportedTargets() & HWY_TARGETS;
  Targets targets;
  std::mt19937_64 random(9);
  int tried = 0;
  for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    targets.use(target);
    ++tried;
    for (const DataType dtype : kDataTypes) {
      for (const ReduceOp op : kReduceOps) {
        for (const std::size_t operands : {1U, 2U, 3U, 8U, 11U}) {
          for (const std::size_t count : counts_of(operands, dtype)) {
            const Trial trial{.dtype = dtype,
                              .op = op,
                              .count = count,
                              .operands = operands,
                              .targets = 3,
                              .divide_by = static_cast<int>(operands),
                              .streamed = operands % 4,
                              .asks_early = operands % 2 == 0,
                              .in_place = 1};
            EXPECT_TRUE(agrees_with_scalar(trial, random)) << hwy::TargetName(target) << " " << trial;
          }
        }
      }
    }
  }
  EXPECT_GE(tried, 1);
}

}  // namespace lockstep::kernels
