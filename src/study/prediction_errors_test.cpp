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

TEST(PredictionErrors, LeaveOutWhatTheCalibrationKnows) {
  PredictionErrors errors;
  const LabCurve curve{"ring", {{1, 10}, {2, 20}, {3, 30}}, {{1, 99}, {2, 22}, {3, 27}}};
  errors.add("ring", curve, {1});
  EXPECT_NEAR(errors.worst(), 0.1, 1e-12);
  EXPECT_EQ(errors.sentence(),
            "The 2 predictions of times have a median error of 10 %, at worst 10 % (ring). 1 more is left out: the "
            "calibration measured the size of a bucket there.");
  EXPECT_EQ(errors.table().rows.back()[1], "2");
  PredictionErrors none;
  none.add("ring", curve, {1, 2, 3});
  EXPECT_EQ(none.sentence(),
            "Nothing was predicted. 3 more are left out: the calibration measured the size of a bucket there.");
}

TEST(PredictionErrors, KnowABucketByItsSize) {
  const std::vector<BucketRecord> buckets = {{.bytes = 65536}, {.bytes = 1000}};
  EXPECT_TRUE(has_known_size(buckets, {256, 65536}));
  EXPECT_FALSE(has_known_size(buckets, {256, 65532}));
  EXPECT_FALSE(has_known_size({}, {256}));
}

TEST(PredictionErrors, PassOverWhatIsNoMeasurement) {
  PredictionErrors errors;
  errors.add("ring", 1, 0);
  errors.add("ring", std::numeric_limits<double>::quiet_NaN(), 1);
  EXPECT_TRUE(errors.empty());
}

}  // namespace lockstep::study
