#include "schedule/relabelled.h"

#include "base/error_for_tests.h"
#include "schedule/builder.h"
#include "schedule/proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

using testing::ElementsAre;

/// The root sends everybody its block.
Schedule scatter(int ranks, int root, int slices) {
  ScheduleBuilder s(
      {.name = "scatter", .collective = Collective::kScatter, .ranks = ranks, .chunks = ranks * slices, .root = root});
  for (int chunk = 0; chunk < ranks * slices; ++chunk) {
    if (chunk / slices != root) s.copy(chunk, {.from = root, .to = chunk / slices});
  }
  return s.take();
}

}  // namespace

TEST(Relabelled, BlocksAndRootGoWithTheirRanks) {
  const Schedule renamed = relabelled(scatter(3, 0, 2), {2, 0, 1});
  EXPECT_EQ(renamed.root, 2);
  const auto copy = [](int chunk, int to) { return Transfer{TransferKind::kCopy, chunk, 2, to}; };
  EXPECT_THAT(renamed.steps, ElementsAre(Step{copy(0, 0), copy(1, 0), copy(2, 1), copy(3, 1)}));
  EXPECT_TRUE(prove(renamed).proved());
}

TEST(Relabelled, PairsOfRanksKeepTheirBlocks) {
  ScheduleBuilder s({.name = "swap", .collective = Collective::kAllToAll, .ranks = 3, .chunks = 9});
  for (int from = 0; from < 3; ++from) {
    for (int to = 0; to < 3; ++to) {
      if (from != to) s.copy(from * 3 + to, {.from = from, .to = to});
    }
  }
  EXPECT_TRUE(prove(relabelled(s.take(), {1, 2, 0})).proved());
}

TEST(Relabelled, ChunksThatAreNobodysStay) {
  const Schedule pair{.name = "pair", .ranks = 2, .chunks = 3, .steps = {{{TransferKind::kReduce, 2, 1, 0}}}};
  EXPECT_EQ(relabelled(pair, {1, 0}).steps[0][0], (Transfer{TransferKind::kReduce, 2, 0, 1}));
}

TEST(Relabelled, TheInverseUndoesIt) {
  const std::vector<int> order{3, 1, 0, 2};
  EXPECT_EQ(relabelled(relabelled(scatter(4, 1, 1), order), inverse_of(order)), scatter(4, 1, 1));
}

TEST(Relabelled, RefusesWhatIsNoOrder) {
  for (const std::vector<int>& order : {std::vector<int>{0, 1}, {0, 1, 1}, {1, 2, 3}}) {
    EXPECT_THAT(
        [&] { (void)relabelled(scatter(3, 0, 1), order); },
        testing_support::refuses(ErrorCode::kInvalidArgument, "the order does not name each of its 3 ranks once"));
  }
}

TEST(OrderByHost, MakesNeighboursOfTheRanksOfAHost) {
  EXPECT_THAT(ranks_of_hosts({7, 4, 7, 4, 4}), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3, 4)));
  EXPECT_THAT(order_by_host({7, 4, 7, 4, 4}), ElementsAre(0, 2, 1, 3, 4));
  EXPECT_THAT(order_by_host({0, 0, 1, 1}), ElementsAre(0, 1, 2, 3));
}

}  // namespace lockstep
