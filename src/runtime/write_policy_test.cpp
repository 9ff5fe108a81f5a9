#include "runtime/write_policy.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

using Memory = Plan::Memory;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr Plan::Place kOwnInput{0, Memory::kInput, 0};
constexpr Plan::Place kOwnOutput{0, Memory::kOutput, 0};
constexpr Plan::Place kStaged{0, Memory::kStaging, 0};
constexpr Plan::Place kOfPeer{1, Memory::kStaging, 0};
constexpr WritePolicy::Caches kFast{.shared_bytes = 32 * kMiB};
constexpr WritePolicy::Caches kSlow{.shared_bytes = 32 * kMiB, .are_slow_to_take_back = true};
constexpr WritePolicy::Caches kAsked{.shared_bytes = 32 * kMiB, .are_worth_asking = true};

Plan::Move move(std::vector<Plan::Place> operands, std::vector<Plan::Place> targets) {
  return {.chunk = 0, .operands = std::move(operands), .targets = std::move(targets)};
}

Plan::Move taking_back(Plan::Move move) {
  move.takes_back = true;
  return move;
}

WritePolicy::Writes writes_of(const Plan::Move& move, const WritePolicy::Caches& caches, bool is_staged,
                              std::size_t all_bytes, std::size_t bytes = kMiB) {
  return WritePolicy(caches, is_staged, all_bytes).of(move, bytes);
}

std::size_t targets_of(const Plan::Move& move, const WritePolicy::Caches& caches, bool is_staged, std::size_t all_bytes,
                       std::size_t bytes = kMiB) {
  return writes_of(move, caches, is_staged, all_bytes, bytes).past_caches;
}

}  // namespace

TEST(WritePolicy, AResultGoesThereOnceAllResultsAreMoreThanTheSharedCacheHolds) {
  const Plan::Move home = move({kOfPeer}, {kOwnOutput});
  EXPECT_EQ(targets_of(home, kFast, true, 40 * kMiB), 0);
  EXPECT_EQ(targets_of(home, kFast, true, 41 * kMiB), 1);
  EXPECT_EQ(targets_of(home, {.shared_bytes = 480 * kMiB}, true, 41 * kMiB), 0);
  EXPECT_EQ(targets_of(home, {}, true, 41 * kMiB), 1) << "as of 32 MiB where the machine does not say";
}

TEST(WritePolicy, ALargeSumStaysWhereItsOperandsHaveBeenRead) {
  const Plan::Place peers_input{1, Memory::kInput, 0};
  const Plan::Place peers_output{1, Memory::kOutput, 0};
  EXPECT_EQ(targets_of(move({kOwnInput, peers_input}, {kOwnOutput, peers_output}), kFast, false, 64 * kMiB), 0);
  EXPECT_EQ(targets_of(move({peers_input, {2, Memory::kInput, 0}}, {kOwnOutput}), kFast, false, 64 * kMiB), 1);
  EXPECT_EQ(targets_of(move({kOfPeer, kOwnInput}, {kStaged}), kFast, true, 64 * kMiB), 0);
}

TEST(WritePolicy, WhatIsStagedInOnePlaceGoesThereWhereCachesAreSlowToTakeBack) {
  const Plan::Move shown = taking_back(move({kOwnInput}, {kStaged}));
  EXPECT_EQ(targets_of(shown, kFast, true, kMiB), 0);
  EXPECT_EQ(targets_of(shown, kSlow, true, kMiB), 1);
  EXPECT_EQ(targets_of(shown, kSlow, true, kMiB, 2047), 0) << "too little";
  EXPECT_EQ(targets_of(move({kOwnInput}, {kStaged}), kSlow, true, kMiB), 0) << "this core has read there";
  EXPECT_EQ(targets_of(taking_back(move({kOfPeer, kOwnInput}, {kStaged, kOwnOutput})), kSlow, true, kMiB), 1)
      << "the output is read here";
  EXPECT_EQ(targets_of(move({kOfPeer}, {kOwnOutput}), kSlow, true, kMiB), 0);
  EXPECT_EQ(targets_of(taking_back(move({kOfPeer, kOwnInput}, {kOwnOutput})), kSlow, false, kMiB), 0)
      << "in place, where its own value lay";
}

TEST(WritePolicy, WhatIsTakenBackIsAskedForEarlyWhereThatIsWorthIt) {
  const Plan::Move sum = taking_back(move({kOfPeer, kOwnInput}, {kOwnOutput}));
  for (const bool is_staged : {false, true}) {
    EXPECT_TRUE(writes_of(sum, kAsked, is_staged, kMiB).asks_early);
    EXPECT_EQ(writes_of(sum, kAsked, is_staged, kMiB).past_caches, 0);
    EXPECT_FALSE(writes_of(sum, kFast, is_staged, kMiB).asks_early);
    EXPECT_FALSE(writes_of(sum, kAsked, is_staged, kMiB, 2047).asks_early) << "too little";
    EXPECT_FALSE(writes_of(move({kOfPeer, kOwnInput}, {kOwnOutput}), kAsked, is_staged, kMiB).asks_early);
  }
}

}  // namespace lockstep
