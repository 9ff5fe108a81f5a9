#include "study/medium.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::study {

using testing::ElementsAre;

TEST(Medium, SweepsNoSizeThatItsCalibrationHasSeen) {
  Medium medium;
  medium.seen = {1024, 768, 4096};
  EXPECT_THAT(unseen({512, 1024, 2000, 4096}, medium), ElementsAre(512, 576, 2000, 3072));
}

}  // namespace lockstep::study
