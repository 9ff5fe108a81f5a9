#include "study/medium.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::study {

using testing::ElementsAre;

TEST(Medium, SweepsNoSizeThatItsCalibrationHasSeen) {
  Medium medium;
  medium.seen = {1024, 768, 4096};
  EXPECT_EQ(unseen(512, medium), 512u);
  EXPECT_EQ(unseen(1024, medium), 576u) << "768 has been seen too";
  EXPECT_EQ(unseen(2000, medium), 2000u);
  EXPECT_EQ(unseen(4096, medium), 3072u);
}

TEST(Medium, SweepsWholeElements) {
  Medium medium;
  medium.seen = {4, 8, 12, 40};
  EXPECT_EQ(unseen(40, medium), 28u) << "7 elements and not 7.5";
  EXPECT_EQ(unseen(2003, medium), 2000u);
  EXPECT_EQ(unseen(3, Medium()), 4u);
  for (const std::uint64_t bytes : {4, 8, 12}) EXPECT_EQ(unseen(bytes, medium), 16u) << "nothing smaller is unseen";
}

TEST(Medium, SweepsTheGradientsSizeOnAnyRanksAndTheOthersOnTheMost) {
  Medium medium;
  medium.seen = {1024, 4096};
  StudyOptions options;
  options.ranks = 4;
  options.sizes = {512, 768, 1024, 8000};
  EXPECT_THAT(sizes_for(2, 4096, options, medium), ElementsAre(3072)) << "the calibration has seen the gradient's";
  EXPECT_THAT(sizes_for(4, 4096, options, medium), ElementsAre(512, 768, 3072, 8000)) << "768 once";
}

}  // namespace lockstep::study
