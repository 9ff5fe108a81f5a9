#include "bench/workload.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace lockstep::bench {

namespace {

constexpr std::size_t kCache = 1 << 16;

Pattern pattern_of(Collective collective, std::size_t count, int ranks = 2) {
  return Pattern({collective, DataType::kFloat32, ReduceOp::kSum, 0, ranks, 0, count});
}

/// In a world of one every operation is done before it began.
Pattern alone(std::size_t count) { return pattern_of(Collective::kAllReduce, count, 1); }

}  // namespace

TEST(Layout, WarmReusesABuffer) {
  const Layout layout = make_layout(pattern_of(Collective::kAllReduce, 1000), false, kCache);
  EXPECT_EQ(layout.slots, 1U);
  EXPECT_EQ(layout.uses, 100);
  EXPECT_GE(layout.bytes(), 4000U);
}

TEST(Layout, WarmTakesAFewWhereAResultCannotGoInAgain) {
  const Layout small = make_layout(pattern_of(Collective::kReduceScatter, 16), false, kCache);
  EXPECT_GT(small.slots, 1U);
  EXPECT_EQ(small.uses, 1);
  EXPECT_EQ(make_layout(pattern_of(Collective::kReduceScatter, 1 << 20), false, kCache).slots, 1U);
}

TEST(Layout, ColdIsLargerThanTheCache) {
  for (const std::size_t count : {1, 1000, 1 << 20}) {
    const Layout layout = make_layout(pattern_of(Collective::kAllReduce, count), true, kCache);
    EXPECT_EQ(layout.uses, 1);
    EXPECT_GE((layout.slots - 1) * layout.stride, 2 * kCache) << count;
  }
}

TEST(FilledOperands, ColdOnesAreOutOfTheCacheOnceAllBetweenThemIsWritten) {
  const Layout layout = make_layout(alone(1), true, kCache);
  ASSERT_GE(layout.slots * layout.gap, 2 * kCache - layout.gap) << "which small buffers are not";
  std::vector<unsigned char> memory(layout.bytes(), 0x11);
  FilledOperands operands(alone(1), layout, memory.data());
  operands.prepare(1);
  EXPECT_EQ(memory.back(), 0);
  for (std::size_t slot = 0; slot < layout.slots; ++slot) {
    const auto end = memory.begin() + static_cast<std::ptrdiff_t>((slot + 1) * layout.stride);
    EXPECT_EQ(std::count(end - static_cast<std::ptrdiff_t>(layout.gap), end, 0), layout.gap) << slot;
  }
}

TEST(FilledOperands, AreWrittenBeforeEveryBatch) {
  const Layout layout = make_layout(alone(100), false, kCache);
  std::vector<unsigned char> memory(layout.bytes());
  FilledOperands operands(alone(100), layout, memory.data());
  std::vector<unsigned char> filled(400);
  for (int batch = 0; batch < 2; ++batch) {
    operands.prepare(2);
    void* const data = operands.next().data;
    if (batch == 0) std::memcpy(filled.data(), data, filled.size());
    EXPECT_EQ(std::memcmp(filled.data(), data, filled.size()), 0) << batch;
    std::memset(data, 0x11, filled.size());
    EXPECT_EQ(operands.next().data, data) << "which is for the whole batch";
  }
}

TEST(Workload, ColdBuffersTakeTurns) {
  const Layout layout = make_layout(alone(100), true, kCache);
  std::vector<unsigned char> memory(layout.bytes());
  Workload workload(alone(100), layout, memory.data());
  std::set<void*> seen;
  for (std::size_t i = 0; i < layout.slots; ++i) {
    workload.prepare(1);
    seen.insert(workload.next().data);
  }
  EXPECT_EQ(seen.size(), layout.slots);
  EXPECT_EQ(workload.take_wrong(), 0U);
}

TEST(Workload, OfColdBuffersEachIsCheckedAsOftenAsItWentIn) {
  constexpr std::size_t kCount = 100;
  const Pattern pattern = pattern_of(Collective::kAllReduce, kCount);
  const Layout layout = make_layout(pattern, true, kCache);
  ASSERT_GT(layout.slots, 2U);
  std::vector<unsigned char> memory(layout.bytes());
  std::vector<float> other(kCount);
  Pattern({Collective::kAllReduce, DataType::kFloat32, ReduceOp::kSum, 1, 2, 0, kCount}).fill(other.data());
  Workload workload(pattern, layout, memory.data());
  const auto wrong_without = [&](std::size_t forgotten) {
    for (std::size_t i = 0; i < layout.slots; ++i) {
      workload.prepare(1);
      auto* const sums = static_cast<float*>(workload.next().data);
      for (std::size_t k = 0; k < kCount && i != forgotten; ++k) sums[k] += other[k];
    }
    return workload.take_wrong();
  };
  EXPECT_EQ(wrong_without(layout.slots), 0U) << "all were summed";
  EXPECT_GT(wrong_without(0), kCount / 4);
  EXPECT_GT(wrong_without(layout.slots - 1), kCount / 4);
}

TEST(Workload, FindsWhatAnOperationLeftWrong) {
  const Layout layout = make_layout(alone(100), false, kCache);
  std::vector<unsigned char> memory(layout.bytes());
  Workload workload(alone(100), layout, memory.data());
  workload.prepare(2);
  (void)workload.next();
  std::memset(workload.next().data, 0x11, 8);
  workload.prepare(1);
  (void)workload.next();
  EXPECT_EQ(workload.take_wrong(), 2U) << "filling again must not hide it";
  EXPECT_EQ(workload.take_wrong(), 0U);
}

}  // namespace lockstep::bench
