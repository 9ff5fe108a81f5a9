#include "algorithms/shape_for_tests.h"
#include "schedule/segmented.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace lockstep {

namespace {

/// The ranks that others send their sums to, or hear the result from, in the tree of a half of the data.
std::set<int> inner_ranks(const Schedule& schedule, int half) {
  std::set<int> inner;
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      if (transfer.chunk == half) inner.insert(transfer.kind == TransferKind::kReduce ? transfer.to : transfer.from);
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

TEST(DoubleTree, NoRankButTheRootIsInnerInBothTrees) {
  for (const Collective half : {Collective::kBroadcast, Collective::kReduce}) {
    for (int ranks = 2; ranks <= 65; ++ranks) {
      for (const int root : {0, ranks / 2, ranks - 1}) {
        const Schedule schedule = shape::build("double_tree", ranks, half, root);
        std::set<int> first = inner_ranks(schedule, 0);
        EXPECT_EQ(first.erase(root), 1U);
        for (const int rank : inner_ranks(schedule, 1)) EXPECT_FALSE(first.contains(rank)) << rank << " of " << ranks;
      }
    }
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

/// Of an even number every rank is a leaf of one tree and inner in the other: in a pipeline it sends a slice of the
/// half in whose tree it is a leaf in the step in which it hears one of the other half, and later is told and passes on
/// so.
TEST(DoubleTree, LeavesAreBusyBothWays) {
  const Schedule schedule = shape::build("double_tree", 12);
  const std::array inner{inner_ranks(schedule, 0), inner_ranks(schedule, 1)};
  EXPECT_EQ(inner[0].size(), 6U);
  EXPECT_EQ(inner[1].size(), 6U);
  constexpr int kSegments = 4;
  const auto is_of_leaf = [&](const Transfer& transfer, int rank) {
    return !inner[static_cast<std::size_t>(transfer.chunk / kSegments)].contains(rank);
  };
  for (const TransferKind kind : {TransferKind::kReduce, TransferKind::kCopy}) {
    std::set<int> busy;
    for (const Step& step : segmented(schedule, kSegments).steps) {
      for (int rank = 0; rank < 12; ++rank) {
        const auto any = [&](bool sends, bool of_leaf) {
          return std::any_of(step.begin(), step.end(), [&](const Transfer& one) {
            return one.kind == kind && (sends ? one.from : one.to) == rank && is_of_leaf(one, rank) == of_leaf;
          });
        };
        const bool goes_up = kind == TransferKind::kReduce;
        if (any(goes_up, true) && any(!goes_up, false)) busy.insert(rank);
      }
    }
    EXPECT_EQ(busy.size(), 12U);
  }
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
