#include "runtime/versions.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Versions, ReadersBelongToTheVersionThatStoodWhenTheStepBegan) {
  // Two ranks exchange their values and each adds the other's; then rank 2 gets the sum from rank 0.
  const Schedule schedule{.name = "exchange",
                          .ranks = 3,
                          .chunks = 1,
                          .steps = {{{TransferKind::kReduce, 0, 0, 1}, {TransferKind::kReduce, 0, 1, 0}},
                                    {{TransferKind::kCopy, 0, 0, 2}}}};
  const Versions versions(schedule);
  ASSERT_EQ(versions.of(0, 0).size(), 2U);
  EXPECT_EQ(versions.of(0, 0)[0].step, -1);
  ASSERT_EQ(versions.of(0, 0)[0].readers.size(), 1U);
  EXPECT_EQ(versions.of(0, 0)[0].readers[0].rank, 1);
  EXPECT_EQ(versions.of(0, 0)[1].step, 0);
  EXPECT_EQ(versions.of(0, 0)[1].readers.at(0).step, 1);
  EXPECT_EQ(versions.at(0, 0, 0), 0);
  EXPECT_EQ(versions.at(0, 0, 1), 1);
  EXPECT_EQ(versions.at(2, 0, 1), 0);
  EXPECT_EQ(versions.at(2, 0, 2), 1);
}

TEST(Versions, SeveralReducesOfOneStepMakeOneVersion) {
  const Schedule schedule{.name = "gather",
                          .ranks = 3,
                          .chunks = 1,
                          .steps = {{{TransferKind::kReduce, 0, 1, 0}, {TransferKind::kReduce, 0, 2, 0}}}};
  EXPECT_EQ(Versions(schedule).of(0, 0).size(), 2U);
}

}  // namespace lockstep
