#include "planner/one_host/reuse_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

namespace lockstep {

namespace {

/// The definition: a list, the last touched first.
class Stack {
 public:
  double of(std::size_t block) const {
    const auto found = std::find(blocks_.begin(), blocks_.end(), block);
    if (found == blocks_.end()) return ReuseDistance::kNever;
    return static_cast<double>(std::distance(blocks_.begin(), found)) + 0.5;
  }
  void touch(std::size_t block) {
    blocks_.remove(block);
    blocks_.push_front(block);
  }
  void drop(std::size_t block) { blocks_.remove(block); }

 private:
  std::list<std::size_t> blocks_;
};

}  // namespace

TEST(ReuseDistance, CountsWhatWasTouchedSinceOnce) {
  ReuseDistance distance(3);
  EXPECT_EQ(distance.of(0), ReuseDistance::kNever);
  for (const std::size_t block : {0U, 1U, 2U, 1U}) distance.touch(block);
  EXPECT_EQ(distance.of(0), 2.5);
  EXPECT_EQ(distance.of(1), 0.5);
  distance.drop(2);
  EXPECT_EQ(distance.of(0), 1.5);
  EXPECT_EQ(distance.of(2), ReuseDistance::kNever);
}

TEST(ReuseDistance, CountsWhatElseWasTouchedSince) {
  ReuseDistance distance(2);
  distance.touch(0);
  distance.touch_others(100);
  distance.touch(1);
  distance.touch_others(10);
  EXPECT_EQ(distance.of(0), 111.5);
  EXPECT_EQ(distance.of(1), 10.5);
  distance.touch(0);
  EXPECT_EQ(distance.of(0), 0.5);
}

TEST(ReuseDistance, AgreesWithAListThroughManyTouches) {
  constexpr std::size_t kBlocks = 20;
  ReuseDistance distance(kBlocks);
  Stack stack;
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    const std::size_t block = random() % kBlocks;
    ASSERT_EQ(distance.of(block), stack.of(block)) << i;
    if (random() % 8 == 0) {
      distance.drop(block);
      stack.drop(block);
    } else {
      distance.touch(block);
      stack.touch(block);
    }
  }
}

}  // namespace lockstep
