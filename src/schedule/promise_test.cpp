#include "schedule/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

using testing::ElementsAre;

using Promise = bool (*)(const Schedule& schedule, int rank, int chunk);

/// The ranks of which it holds, for each chunk: "012 012".
std::string who(Promise promise, Collective collective, int chunks) {
  const Schedule schedule{.collective = collective, .ranks = 3, .chunks = chunks, .root = has_root(collective) ? 1 : 0};
  std::string text;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    if (chunk > 0) text += ' ';
    for (int rank = 0; rank < 3; ++rank) {
      if (promise(schedule, rank, chunk)) text += std::to_string(rank);
    }
  }
  return text;
}

}  // namespace

TEST(Promise, SaysWhoContributes) {
  EXPECT_EQ(who(contributes, Collective::kAllReduce, 2), "012 012");
  EXPECT_EQ(who(contributes, Collective::kReduceScatter, 3), "012 012 012");
  EXPECT_EQ(who(contributes, Collective::kReduce, 1), "012");
  EXPECT_EQ(who(contributes, Collective::kBarrier, 1), "012");
  EXPECT_EQ(who(contributes, Collective::kBroadcast, 2), "1 1");
  EXPECT_EQ(who(contributes, Collective::kScatter, 3), "1 1 1");
  EXPECT_EQ(who(contributes, Collective::kAllGather, 6), "0 0 1 1 2 2");
  EXPECT_EQ(who(contributes, Collective::kGather, 3), "0 1 2");
  EXPECT_EQ(who(contributes, Collective::kAllToAll, 9), "0 0 0 1 1 1 2 2 2");
}

TEST(Promise, SaysWhoMustEndWithIt) {
  EXPECT_EQ(who(must_end_with, Collective::kAllReduce, 2), "012 012");
  EXPECT_EQ(who(must_end_with, Collective::kReduceScatter, 6), "0 0 1 1 2 2");
  EXPECT_EQ(who(must_end_with, Collective::kReduce, 2), "1 1");
  EXPECT_EQ(who(must_end_with, Collective::kBarrier, 1), "012");
  EXPECT_EQ(who(must_end_with, Collective::kBroadcast, 2), "012 012");
  EXPECT_EQ(who(must_end_with, Collective::kScatter, 3), "0 1 2");
  EXPECT_EQ(who(must_end_with, Collective::kAllGather, 3), "012 012 012");
  EXPECT_EQ(who(must_end_with, Collective::kGather, 3), "1 1 1");
  EXPECT_EQ(who(must_end_with, Collective::kAllToAll, 9), "0 1 2 0 1 2 0 1 2");
}

TEST(Promise, SlicesOfABlockBelongToTheBlocksRanks) {
  EXPECT_EQ(who(contributes, Collective::kAllToAll, 18), "0 0 0 0 0 0 1 1 1 1 1 1 2 2 2 2 2 2");
  EXPECT_EQ(who(must_end_with, Collective::kAllToAll, 18), "0 0 1 1 2 2 0 0 1 1 2 2 0 0 1 1 2 2");
}

TEST(Promise, EachCollectiveIsListedOnceAndKnowsItsBlocks) {
  std::vector<std::string> blocks;
  for (const Collective collective : kCollectives) {
    blocks.push_back(std::string(to_string(collective)) + ' ' + std::to_string(blocks_of(collective, 3)));
  }
  EXPECT_THAT(blocks, ElementsAre("all_reduce 1", "reduce_scatter 3", "all_gather 3", "broadcast 1", "reduce 1",
                                  "gather 3", "scatter 3", "all_to_all 9", "barrier 1"));
}

}  // namespace lockstep
