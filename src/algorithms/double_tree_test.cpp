#include "algorithms/shape_for_tests.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep {

namespace {

/// The ranks that others send their sums to, in the tree of a half of the data.
std::set<int> inner_ranks(const Schedule& schedule, int half) {
  std::set<int> inner;
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      if (transfer.kind == TransferKind::kReduce && transfer.chunk == half) inner.insert(transfer.to);
    }
  }
  return inner;
}

}  // namespace

TEST(DoubleTree, NoRankIsInnerInBothTrees) {
  for (int ranks = 2; ranks <= 65; ++ranks) {
    const Schedule schedule = shape::build("double_tree", ranks);
    const std::set<int> first = inner_ranks(schedule, 0);
    for (const int rank : inner_ranks(schedule, 1)) EXPECT_FALSE(first.contains(rank)) << rank << " of " << ranks;
  }
}

TEST(DoubleTree, TreesAreBinaryAndAsHighAsTheLogarithm) {
  for (int ranks = 2; ranks <= 65; ++ranks) {
    const Schedule schedule = shape::build("double_tree", ranks);
    std::size_t height = 0;
    while ((2 << height) <= ranks) ++height;
    EXPECT_EQ(schedule.steps.size(), 2 * height) << ranks;
    for (const int half : {0, 1}) {
      std::vector<int> children(static_cast<std::size_t>(ranks));
      for (const Step& step : schedule.steps) {
        for (const auto& [kind, chunk, from, to] : step) {
          if (kind == TransferKind::kReduce && chunk == half) ++children[static_cast<std::size_t>(to)];
        }
      }
      for (const int count : children) EXPECT_LE(count, 2);
    }
  }
}

TEST(DoubleTree, LeavesAreBusyBothWays) {
  // Of an even number every rank is a leaf of one tree and inner in the other: it passes on one half and its own other.
  const Schedule schedule = shape::build("double_tree", 12);
  EXPECT_EQ(inner_ranks(schedule, 0).size(), 6U);
  EXPECT_EQ(inner_ranks(schedule, 1).size(), 6U);
  for (const int halves : shape::sent(schedule)) EXPECT_GE(halves, 2);
}

TEST(DoubleTree, TheRootStandsAboveBothTrees) {
  for (const Collective half : {Collective::kBroadcast, Collective::kReduce}) {
    const Schedule schedule = shape::build("double_tree", 8, half, 5);
    int at_root = 0;
    for (const Step& step : schedule.steps) {
      for (const Transfer& transfer : step) at_root += transfer.from == 5 || transfer.to == 5 ? 1 : 0;
    }
    EXPECT_EQ(at_root, 2) << "one transfer a tree";
    EXPECT_EQ(schedule.steps.size(), 3U) << "two for seven ranks, one for the root";
  }
}

}  // namespace lockstep
