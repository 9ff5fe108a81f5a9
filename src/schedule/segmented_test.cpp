#include "schedule/segmented.h"

#include "base/error_for_tests.h"
#include "schedule/chain_for_tests.h"
#include "schedule/proof.h"
#include "schedule/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

using testing::ElementsAre;

}  // namespace

TEST(Segmented, SlicesFollowEachOtherThroughTheSteps) {
  const Schedule pipeline = segmented(chain(), 2);
  EXPECT_EQ(pipeline.chunks, 2);
  const auto reduce = [](int chunk, int from, int to) { return Transfer{TransferKind::kReduce, chunk, from, to}; };
  const auto copy = [](int chunk, int to) { return Transfer{TransferKind::kCopy, chunk, 0, to}; };
  EXPECT_THAT(pipeline.steps, ElementsAre(Step{reduce(0, 2, 1)}, Step{reduce(1, 2, 1), reduce(0, 1, 0)},
                                          Step{reduce(1, 1, 0), copy(0, 1), copy(0, 2)}, Step{copy(1, 1), copy(1, 2)}));
}

TEST(Segmented, OneSegmentIsTheScheduleItself) {
  EXPECT_EQ(segmented(chain(), 1), chain());
  EXPECT_EQ(segmented({.name = "idle", .ranks = 1}, 1), (Schedule{.name = "idle", .ranks = 1}));
}

TEST(Segmented, IsProvedAndSumsInTheSameOrder) {
  const Proof proof = prove(segmented(chain(), 5));
  ASSERT_TRUE(proof.proved()) << describe(*proof.refusal);
  ASSERT_EQ(proof.orders.size(), 1U);
  EXPECT_EQ(proof.orders[0].expression, prove(chain()).orders[0].expression);
  EXPECT_EQ(proof.orders[0].chunks.size(), 5U);
}

TEST(Segmented, OneRanksPartIsThePartOfTheWhole) {
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(view_of(segmented(chain(rank), 3), rank), view_of(segmented(chain(), 3), rank));
  }
}

TEST(Segmented, SlicesOfABlockStayWithItsRank) {
  const Schedule blocks{.collective = Collective::kAllGather, .ranks = 2, .chunks = 2};
  const Schedule sliced = segmented(blocks, 3);
  EXPECT_EQ(owner_of(sliced, 2), 0);
  EXPECT_EQ(owner_of(sliced, 3), 1);
}

TEST(Segmented, RefusesNumbersThatCannotBe) {
  using testing_support::refuses;
  EXPECT_THAT([] { (void)segmented(chain(), 0); },
              refuses(ErrorCode::kInvalidArgument, "cannot be cut into 0 segments each; take a number from 1 up"));
  EXPECT_THAT([] { (void)segmented({.ranks = 2, .chunks = 1 << 16}, 1 << 16); },
              refuses(ErrorCode::kInvalidArgument, "cannot be cut into 65536 segments each"));
}

}  // namespace lockstep
