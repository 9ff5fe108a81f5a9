#include "study/prediction_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace lockstep::study {

using testing::ElementsAre;

TEST(PredictionErrors, AreMedianAndWorstOfAll) {
  PredictionErrors errors;
  EXPECT_EQ(errors.sentence(), "Nothing was predicted.");
  errors.add("ring", 110, 100);
  errors.add("ring", 80, 100);
  errors.add("tree", 250, 100);
  EXPECT_DOUBLE_EQ(errors.median(), 0.2);
  EXPECT_DOUBLE_EQ(errors.worst(), 1.5);
  EXPECT_EQ(errors.sentence(), "The 3 predictions of times have a median error of 20 %, at worst 150 % (tree).");
  EXPECT_THAT(errors.table().rows,
              ElementsAre(ElementsAre("ring", "2", "15 %", "20 %"), ElementsAre("tree", "1", "150 %", "150 %"),
                          ElementsAre("all", "3", "20 %", "150 %")));
}

TEST(PredictionErrors, OfACurveAreWhereBothHaveAPoint) {
  PredictionErrors errors;
  errors.add("ring", LabCurve{"ring", {{1, 10}, {2, 20}, {3, 30}}, {{1, 11}, {3, 27}, {4, 99}}});
  EXPECT_EQ(errors.table().rows.front()[1], "2");
  EXPECT_NEAR(errors.median(), 0.1, 1e-12);
}

TEST(PredictionErrors, PassOverWhatIsNoMeasurement) {
  PredictionErrors errors;
  errors.add("ring", 1, 0);
  errors.add("ring", std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_TRUE(errors.empty());
}

}  // namespace lockstep::study
