#include "bench/refit.h"

#include "base/error_for_tests.h"
#include "bench/refit_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace lockstep::bench {

TEST(Refit, FitsAnewAndPredictsWhatWasHeldBack) {
  const Calibration calibration = calibration_of(samples_that_take(in_shared_memory), samples_that_take(over_tcp));
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const Refit refitted = refit(calibration, medium);
    ASSERT_FALSE(refitted.sizes.empty());
    ASSERT_FALSE(refitted.ranks.empty());
    EXPECT_LT(refitted.held_back.sizes.worst, 0.1) << to_string(medium);
    EXPECT_LT(refitted.held_back.ranks.worst, 0.1) << to_string(medium);
    EXPECT_TRUE(std::all_of(refitted.ranks.begin(), refitted.ranks.end(),
                            [](const Prediction& one) { return one.measured.ranks == 3; }));
  }
}

TEST(Refit, TellsOfEachHowFarOffItIs) {
  const auto is_odd_one = [](const std::string& algorithm, int ranks, double bytes) {
    return algorithm == "ring" && ranks == 2 && bytes == 384;
  };
  const auto seconds = [&](const Schedule& schedule, double bytes) {
    return in_shared_memory(schedule, bytes) * (is_odd_one(schedule.name, schedule.ranks, bytes) ? 2 : 1);
  };
  const Refit refitted = refit(calibration_of(samples_that_take(seconds), {}), Medium::kSharedMemory);
  int odd_ones = 0;
  double worst = 0;
  for (const Prediction& one : refitted.sizes) {
    worst = std::max(worst, std::abs(one.error()));
    if (!is_odd_one(one.measured.algorithm, one.measured.ranks, one.measured.bytes)) continue;
    ++odd_ones;
    EXPECT_NEAR(one.error(), -0.5, 0.05) << "it takes twice as long as others say";
  }
  EXPECT_EQ(odd_ones, 1);
  EXPECT_DOUBLE_EQ(worst, refitted.held_back.sizes.worst);
}

TEST(Refit, WhereNothingWasMeasuredThereIsNothingToFitTo) {
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    EXPECT_THAT([&] { (void)refit(calibration_of({}, {}), medium); },
                testing_support::refuses(ErrorCode::kInvalidArgument, "Without a measurement"));
  }
}

}  // namespace lockstep::bench
