#include "schedule/board.h"

#include "schedule/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Board, BeginsWithWhatTheCollectiveGives) {
  const Board gathered({.collective = Collective::kAllGather, .ranks = 2, .chunks = 2});
  EXPECT_THAT(gathered.contributions(1, 1), ElementsAre(1));
  EXPECT_TRUE(gathered.is_complete(1, 1));
  EXPECT_FALSE(gathered.holds(0, 1));
  EXPECT_THAT(gathered.contributors(1), ElementsAre(1));
  const Board reduction({.ranks = 3, .chunks = 1});
  EXPECT_THAT(reduction.contributors(0), ElementsAre(0, 1, 2));
  EXPECT_FALSE(reduction.is_complete(0, 0));
}

TEST(Board, AStepMovesWhatWasThereWhenItBegan) {
  Board board({.ranks = 3, .chunks = 1});
  // An exchange between 0 and 1, while 2 takes what 1 had before it.
  board.carry_out(
      {{TransferKind::kReduce, 0, 0, 1}, {TransferKind::kReduce, 0, 1, 0}, {TransferKind::kReduce, 0, 1, 2}});
  EXPECT_THAT(board.contributions(0, 0), ElementsAre(0, 1));
  EXPECT_THAT(board.contributions(1, 0), ElementsAre(0, 1));
  EXPECT_THAT(board.contributions(2, 0), ElementsAre(1, 2));
  board.carry_out({{TransferKind::kCopy, 0, 2, 0}});
  EXPECT_THAT(board.contributions(0, 0), ElementsAre(1, 2)) << "a copy replaces";
}

TEST(Board, CountsBeyondOneWordOfRanks) {
  Board board({.ranks = 130, .chunks = 2});
  Step step;
  for (int rank = 1; rank < 130; ++rank) step.push_back({TransferKind::kReduce, 1, rank, 0});
  board.carry_out(step);
  EXPECT_TRUE(board.is_complete(0, 1));
  EXPECT_THAT(board.contributions(129, 1), ElementsAre(129));
  EXPECT_THAT(board.contributions(0, 0), ElementsAre(0));
}

TEST(Board, FollowsWhatAProofWouldRefuse) {
  Board board({.collective = Collective::kBroadcast, .ranks = 2, .chunks = 1});
  board.carry_out({{TransferKind::kCopy, 0, 1, 0}});
  EXPECT_THAT(board.contributions(0, 0), IsEmpty()) << "nothing was copied over the root's value";
}

}  // namespace lockstep
