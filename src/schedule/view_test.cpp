#include "schedule/view.h"

#include "base/error_for_tests.h"
#include "schedule/chain_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

}  // namespace

TEST(View, SplitsStepsIntoSendsAndReceives) {
  const RankView view = view_of(chain(), 1);
  ASSERT_EQ(view.steps.size(), 3U);
  EXPECT_THAT(view.steps[0].sends, IsEmpty());
  EXPECT_THAT(view.steps[0].receives, ElementsAre(Transfer{TransferKind::kReduce, 0, 2, 1}));
  EXPECT_THAT(view.steps[1].sends, ElementsAre(Transfer{TransferKind::kReduce, 0, 1, 0}));
  EXPECT_THAT(view.steps[2].receives, ElementsAre(Transfer{TransferKind::kCopy, 0, 0, 1}));
}

TEST(View, IsTheSameFromTheWholeAndFromOnesOwnPart) {
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(view_of(chain(), rank), view_of(chain(rank), rank));
}

TEST(View, RefusesARankThatIsNotThere) {
  using testing_support::refuses;
  EXPECT_THAT([] { (void)view_of(chain(), 3); },
              refuses(ErrorCode::kInvalidArgument, "has ranks 0 to 2; there is no rank 3."));
  EXPECT_THAT([] { (void)view_of(chain(), -1); }, refuses(ErrorCode::kInvalidArgument, "there is no rank -1."));
}

TEST(View, AgreementFindsTheStepWhereViewsPart) {
  const RankView zero = view_of(chain(), 0);
  EXPECT_EQ(first_disagreement(zero, view_of(chain(), 1)), std::nullopt);
  RankView forgetful = view_of(chain(), 1);
  forgetful.steps[2].receives.clear();
  EXPECT_EQ(first_disagreement(zero, forgetful), 2);
  EXPECT_EQ(first_disagreement(forgetful, zero), 2);
  RankView short_one = view_of(chain(), 1);
  short_one.steps.pop_back();
  EXPECT_EQ(first_disagreement(zero, short_one), 2);
}

TEST(View, AChunkIsFinishedByItsLastReduceUnlessSentOnAsAPartialSum) {
  EXPECT_THAT(finishing_steps(view_of(chain(), 0)), ElementsAre(1));
  EXPECT_THAT(finishing_steps(view_of(chain(), 1)), ElementsAre(-1)) << "its last write is a copy";
  EXPECT_THAT(finishing_steps(view_of(chain(), 2)), ElementsAre(-1));
  Schedule to_one_rank = chain();
  to_one_rank.steps.pop_back();
  EXPECT_THAT(finishing_steps(view_of(to_one_rank, 1)), ElementsAre(-1)) << "it sends its partial sum on";
  Schedule in_vain = chain();
  in_vain.steps[1] = {{TransferKind::kReduce, 0, 1, 0}, {TransferKind::kReduce, 0, 0, 2}};
  EXPECT_THAT(finishing_steps(view_of(in_vain, 2)), ElementsAre(-1)) << "a copy takes the place of its sum";
}

}  // namespace lockstep
