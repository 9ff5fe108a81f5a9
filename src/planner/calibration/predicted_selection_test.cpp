#include "planner/calibration/predicted_selection.h"

#include "algorithms/catalog.h"
#include "planner/calibration/calibrated_timing.h"
#include "planner/calibration/calibration_for_tests.h"
#include "schedule/promise.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(PredictedSelection, TheSelectionFollowsThePredictions) {
  const Selection selection = predicted_selection(calibration_with(1e-6, 1e-10, 1e-10), 4);
  for (double bytes = 64; bytes <= (1 << 30); bytes *= 4) {
    const Calibration calibration = calibration_with(1e-6, 1e-10, 1e-10);
    const auto seconds = [&](std::string_view name) {
      return CalibratedTiming(calibration, Medium::kSharedMemory, find_algorithm(name).build({.ranks = 4}))
          .seconds({bytes});
    };
    const double chosen = seconds(selection.select(Collective::kAllReduce, static_cast<std::uint64_t>(bytes)));
    for (const std::string_view name : algorithms_for(Collective::kAllReduce)) {
      EXPECT_LE(chosen, seconds(name) / 0.97) << name << " at " << bytes;
    }
  }
}

TEST(PredictedSelection, WhereNothingCostsMoreThanAnotherTheSelectionStaysAsBuiltIn) {
  const Selection free = predicted_selection({.machine = calibration_with(0, 0, 0).machine}, 2);
  for (const Collective collective : kCollectives) {
    EXPECT_EQ(select(free, collective, 1 << 20), select(built_in_selection(2), collective, 0)) << to_string(collective);
  }
}

TEST(PredictedSelection, OfVeryManyRanksTheSelectionIsBuiltIn) {
  const Calibration calibration = calibration_with(1e-6, 1e-10, 1e-10);
  EXPECT_EQ(predicted_selection(calibration, kMostSelectedRanks + 1), built_in_selection(kMostSelectedRanks + 1));
}

TEST(PredictedSelection, ASelectionIsWrittenAndReadAsText) {
  const std::string text = predicted_selection(calibration_with(5e-6, 1e-10, 3e-10), 8).to_text();
  EXPECT_EQ(Selection::parse(text, "text").to_text(), text);
}

}  // namespace lockstep
