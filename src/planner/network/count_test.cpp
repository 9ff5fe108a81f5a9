// The textbook's arithmetic, p ranks and n bytes.
#include "planner/network/count.h"

#include "algorithms/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

constexpr double kBytes = 27720;  // divisible by every number of ranks here

Counts counts_of(std::string_view algorithm, int ranks) {
  return count(find_algorithm(algorithm).build({.ranks = ranks}), kBytes);
}

}  // namespace

TEST(Count, RingMovesTheLeastAndAllRanksAlike) {
  for (int ranks = 2; ranks <= 12; ++ranks) {
    const Counts counts = counts_of("ring", ranks);
    EXPECT_EQ(counts.steps, 2U * (ranks - 1));
    EXPECT_NEAR(counts.bytes, 2.0 * (ranks - 1) * kBytes, 1e-6);
    for (const Counts::Rank& rank : counts.by_rank) {
      EXPECT_NEAR(rank.sent_bytes, 2.0 * (ranks - 1) * kBytes / ranks, 1e-6);
      EXPECT_NEAR(rank.received_bytes, rank.sent_bytes, 1e-6);
      EXPECT_NEAR(rank.reduced_bytes, rank.sent_bytes / 2, 1e-6);
    }
    EXPECT_EQ(counts.busiest.link.from, 0);
  }
}

TEST(Count, TreeTakesTwiceTheLogarithm) {
  for (const auto& [ranks, levels] : {std::pair{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}, {16, 4}, {17, 5}}) {
    EXPECT_EQ(counts_of("tree", ranks).steps, 2U * levels);
    EXPECT_NEAR(counts_of("tree", ranks).bytes, 2.0 * (ranks - 1) * kBytes, 1e-6);
  }
}

TEST(Count, NaiveSendsEverythingToEverybody) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Counts counts = counts_of("naive", ranks);
    EXPECT_NEAR(counts.bytes, double{kBytes} * ranks * (ranks - 1), 1e-6);
    EXPECT_NEAR(counts.most_sent_bytes, kBytes * (ranks - 1), 1e-6);
  }
}

TEST(Count, AllOfAStarGoesThroughOneRank) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Counts counts = counts_of("star", ranks);
    EXPECT_NEAR(counts.bytes, 2.0 * (ranks - 1) * kBytes, 1e-6);
    const Counts::Rank& middle = counts.by_rank[static_cast<std::size_t>(counts.busiest.rank)];
    EXPECT_NEAR(middle.sent_bytes + middle.received_bytes, counts.bytes, 1e-6);
  }
}

TEST(Count, WhatOneRankSendsAnotherInAStepIsOneMessage) {
  const Schedule schedule{
      .name = "by hand",
      .ranks = 2,
      .chunks = 4,
      .steps = {{{TransferKind::kReduce, 0, 1, 0}, {TransferKind::kReduce, 2, 0, 1}, {TransferKind::kCopy, 1, 1, 0}},
                {{TransferKind::kCopy, 0, 0, 1}}}};
  const std::vector<Message> messages = messages_of(schedule);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].from, 0);
  EXPECT_EQ(messages[1].chunks, 2);
  EXPECT_EQ(messages[1].reduced_chunks, 1);
  const Counts counts = count(schedule, 400);
  EXPECT_EQ(counts.transfers, 4U);
  EXPECT_EQ(counts.messages, 3U);
  EXPECT_EQ(counts.bytes, 400);
  EXPECT_EQ(counts.by_rank[0].reduced_bytes, 100);
}

}  // namespace lockstep
