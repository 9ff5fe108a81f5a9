#include "runtime/message_plan.h"
#include "runtime/plans_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

using testing::ElementsAre;

}  // namespace

/// Two ranks exchange their sums, then one of them sends the result on, out of order in the text.
TEST(MessagePlan, SaysWhatEachTransferWaitsFor) {
  const Schedule schedule{.name = "by hand",
                          .collective = Collective::kAllReduce,
                          .ranks = 3,
                          .chunks = 2,
                          .steps = {{{kReduce, 1, 2, 0}, {kReduce, 0, 2, 0}},
                                    {{kReduce, 0, 0, 1}, {kReduce, 0, 1, 0}, {kReduce, 1, 0, 1}, {kReduce, 1, 1, 0}},
                                    {{kCopy, 1, 0, 2}, {kCopy, 0, 0, 2}}}};
  const MessagePlan plan = make_message_plan(schedule, 0);
  ASSERT_EQ(plan.moves.size(), 4U);
  EXPECT_EQ(plan.moves[0].chunk, 0);  // both ends of a stream go by chunks
  EXPECT_EQ(plan.moves[1].chunk, 1);
  EXPECT_EQ(plan.moves[0].after_move, MessagePlan::kNone);
  EXPECT_THAT(plan.moves[0].after_sends, testing::IsEmpty());
  EXPECT_FALSE(plan.moves[0].finishes);
  EXPECT_EQ(plan.moves[2].after_move, 0);
  EXPECT_THAT(plan.moves[2].after_sends, ElementsAre(0)) << "the exchange sends what the step began with";
  EXPECT_TRUE(plan.moves[2].finishes);
  ASSERT_EQ(plan.sends.size(), 4U);
  EXPECT_EQ(plan.sends[0].after_move, 0);
  EXPECT_EQ(plan.sends[2].after_move, 2);
  ASSERT_EQ(plan.streams.size(), 2U);
  EXPECT_EQ(plan.streams[0].peer, 1);
  EXPECT_THAT(plan.streams[0].sends, ElementsAre(0, 1));
  EXPECT_EQ(plan.streams[0].arrivals.size(), 2U);
  EXPECT_EQ(plan.streams[1].peer, 2);
  EXPECT_THAT(plan.streams[1].sends, ElementsAre(2, 3));
}

/// Of three that pass a chunk on: the second piece is like the first, behind it on every stream.
TEST(MessagePlan, PiecesFollowEachOther) {
  const Schedule schedule{.name = "by hand",
                          .collective = Collective::kAllReduce,
                          .ranks = 3,
                          .chunks = 2,
                          .steps = {{{kReduce, 1, 0, 1}}, {{kReduce, 1, 1, 2}}, {{kCopy, 1, 2, 1}}}};
  const MessagePlan one = make_message_plan(schedule, 1);
  EXPECT_EQ(one.pieces, 1);
  const MessagePlan plan = in_pieces(one, 3);
  EXPECT_EQ(plan.pieces, 3);
  EXPECT_EQ(plan.chunks, 6);
  ASSERT_EQ(plan.moves.size(), 6U);
  EXPECT_EQ(plan.moves[2].chunk, 3);
  EXPECT_EQ(plan.moves[2].after_move, MessagePlan::kNone) << "it holds what it held at the start";
  EXPECT_EQ(plan.moves[3].after_move, 2);
  EXPECT_THAT(plan.moves[5].after_sends, ElementsAre(2));
  ASSERT_EQ(plan.sends.size(), 3U);
  EXPECT_EQ(plan.sends[2].chunk, 5);
  EXPECT_EQ(plan.sends[2].after_move, 4);
  ASSERT_EQ(plan.streams.size(), 2U);
  EXPECT_EQ(plan.streams[0].arrivals[1].move, 2);
  EXPECT_THAT(plan.streams[1].sends, ElementsAre(0, 1, 2));
  EXPECT_EQ(plan.streams[1].arrivals[2].move, 5);
}

TEST(MessagePlan, ListsSourcesInAscendingOrder) {
  const Schedule schedule{.name = "by hand",
                          .collective = Collective::kReduce,
                          .ranks = 3,
                          .chunks = 1,
                          .root = 1,
                          .steps = {{{kReduce, 0, 2, 1}, {kReduce, 0, 0, 1}}}};
  const MessagePlan plan = make_message_plan(schedule, 1);
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_THAT(plan.moves[0].sources, ElementsAre(0, 2));
  EXPECT_TRUE(plan.moves[0].finishes);
}

}  // namespace lockstep
