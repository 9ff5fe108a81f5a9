#include "train/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

std::vector<std::size_t> in_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::size_t> parameters_of(const BucketLayout& layout) {
  std::vector<std::size_t> result;
  for (const Slot& slot : layout.slots) result.push_back(slot.parameter);
  return result;
}

TEST(Layout, SlotsAreAlignedAndDoNotOverlap) {
  const auto buckets = lay_out({{4}, {64}, {65}, {1000}}, in_order(4), {4096, 4096});
  ASSERT_EQ(buckets.size(), 1u);
  EXPECT_THAT(buckets[0].slots, ElementsAre(Slot{0, 0}, Slot{1, 64}, Slot{2, 128}, Slot{3, 256}));
  EXPECT_EQ(buckets[0].bytes, 256u + 1024u);
}

TEST(Layout, FollowsTheOrderGiven) {
  const auto buckets = lay_out({{64}, {64}, {64}}, {2, 0, 1}, {128, 128});
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_THAT(parameters_of(buckets[0]), ElementsAre(2, 0));
  EXPECT_THAT(parameters_of(buckets[1]), ElementsAre(1));
}

TEST(Layout, FirstBucketHasItsOwnLimit) {
  const auto buckets = lay_out(std::vector<GradientSize>(7, {64}), in_order(7), {128, 256});
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].slots.size(), 2u);
  EXPECT_EQ(buckets[1].slots.size(), 4u);
  EXPECT_EQ(buckets[2].slots.size(), 1u);
}

TEST(Layout, LargeGradientGetsABucketOfItsOwn) {
  const auto buckets = lay_out({{64}, {10000}, {64}, {64}}, in_order(4), {128, 128});
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_THAT(parameters_of(buckets[1]), ElementsAre(1));
  EXPECT_THAT(parameters_of(buckets[2]), ElementsAre(2, 3));
}

TEST(Layout, TypesDoNotMixAndBucketsComeInTheOrderTheyGetFull) {
  const DataType half = DataType::kFloat16;
  const auto buckets = lay_out({{64}, {64, half}, {64}, {64, half}, {64}}, in_order(5), {128, 128});
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_THAT(parameters_of(buckets[0]), ElementsAre(0, 2));
  EXPECT_THAT(parameters_of(buckets[1]), ElementsAre(1, 3));
  EXPECT_EQ(buckets[1].dtype, half);
  EXPECT_THAT(parameters_of(buckets[2]), ElementsAre(4));
}

TEST(Layout, EmptyGradientTakesNoRoom) {
  const auto buckets = lay_out({{0}, {64}}, in_order(2), {64, 64});
  ASSERT_EQ(buckets.size(), 1u);
  EXPECT_EQ(buckets[0].bytes, 64u);
}

}  // namespace
}  // namespace lockstep
