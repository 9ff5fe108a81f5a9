#include "runtime/past_caches.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

using Memory = Plan::Memory;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr Plan::Place kOwnInput{0, Memory::kInput, 0};
constexpr Plan::Place kOwnOutput{0, Memory::kOutput, 0};
constexpr Plan::Place kStaged{0, Memory::kStaging, 0};
constexpr Plan::Place kOfPeer{1, Memory::kStaging, 0};
constexpr Plan::Place kRotates{0, Memory::kStaging, 0, {.rotation = 0, .position = 0}};
constexpr PastCaches::Caches kFast{.shared_bytes = 32 * kMiB};
constexpr PastCaches::Caches kSlow{.shared_bytes = 32 * kMiB, .are_slow_to_take_back = true};

Plan::Move move(std::vector<Plan::Place> operands, std::vector<Plan::Place> targets) {
  return {.chunk = 0, .operands = std::move(operands), .targets = std::move(targets)};
}

std::size_t targets_of(const Plan::Move& move, const PastCaches::Caches& caches, bool is_staged, std::size_t all_bytes,
                       std::size_t bytes = kMiB) {
  return PastCaches(caches, is_staged, all_bytes).targets_of(move, bytes);
}

}  // namespace

TEST(PastCaches, AResultGoesThereOnceAllResultsAreMoreThanTheSharedCacheHolds) {
  const Plan::Move home = move({kOfPeer}, {kOwnOutput});
  EXPECT_EQ(targets_of(home, kFast, true, 48 * kMiB), 0);
  EXPECT_EQ(targets_of(home, kFast, true, 49 * kMiB), 1);
  EXPECT_EQ(targets_of(home, {.shared_bytes = 480 * kMiB}, true, 49 * kMiB), 0);
  EXPECT_EQ(targets_of(home, {}, true, 49 * kMiB), 1) << "as of 32 MiB where the machine does not say";
}

TEST(PastCaches, ALargeSumStaysWhereItsOperandsHaveBeenRead) {
  const Plan::Place peers_input{1, Memory::kInput, 0};
  const Plan::Place peers_output{1, Memory::kOutput, 0};
  EXPECT_EQ(targets_of(move({kOwnInput, peers_input}, {kOwnOutput, peers_output}), kFast, false, 64 * kMiB), 0);
  EXPECT_EQ(targets_of(move({peers_input, {2, Memory::kInput, 0}}, {kOwnOutput}), kFast, false, 64 * kMiB), 1);
  EXPECT_EQ(targets_of(move({kOfPeer, kOwnInput}, {kStaged}), kFast, true, 64 * kMiB), 0);
}

TEST(PastCaches, WhatIsStagedInOnePlaceGoesThereWhereCachesAreSlowToTakeBack) {
  const Plan::Move shown = move({kOwnInput}, {kStaged});
  EXPECT_EQ(targets_of(shown, kFast, true, kMiB), 0);
  EXPECT_EQ(targets_of(shown, kSlow, true, kMiB), 1);
  EXPECT_EQ(targets_of(shown, kSlow, true, kMiB, 2047), 0) << "too little";
  EXPECT_EQ(targets_of(move({kOwnInput}, {kRotates}), kSlow, true, kMiB), 0) << "this core has read there";
  EXPECT_EQ(targets_of(move({kOfPeer, kOwnInput}, {kStaged, kOwnOutput}), kSlow, true, kMiB), 1)
      << "the output is read here";
  EXPECT_EQ(targets_of(move({kOfPeer}, {kOwnOutput}), kSlow, true, kMiB), 0);
}

}  // namespace lockstep
