#include "planner/calibration/predicted_selection.h"

#include "algorithms/catalog.h"
#include "planner/calibration/calibrated_timing.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

/// Turns are dear and bytes cheap, or the other way round.
Calibration predicted_with(double turn_s, double accessed_s, double fetched_s) {
  Calibration calibration{.machine = {.processor = "test", .cores = 4, .memory_bytes = 1e9}};
  calibration.shm.seconds[HostCosts::kSwitch] = turn_s;
  calibration.shm.seconds[HostCosts::kProgress] = turn_s;
  calibration.shm.seconds[HostCosts::kByte] = accessed_s;
  calibration.shm.seconds[HostCosts::kFetchedByte] = fetched_s;
  return calibration;
}

}  // namespace

TEST(PredictedSelection, TheSelectionFollowsThePredictions) {
  const Selection selection = predicted_selection(predicted_with(1e-6, 1e-10, 1e-10), 4);
  for (double bytes = 64; bytes <= (1 << 30); bytes *= 4) {
    const Calibration calibration = predicted_with(1e-6, 1e-10, 1e-10);
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

TEST(PredictedSelection, OfVeryManyRanksTheSelectionIsBuiltIn) {
  const Calibration calibration = predicted_with(1e-6, 1e-10, 1e-10);
  EXPECT_EQ(predicted_selection(calibration, kMostSelectedRanks + 1), built_in_selection(kMostSelectedRanks + 1));
}

TEST(PredictedSelection, ASelectionIsWrittenAndReadAsText) {
  const std::string text = predicted_selection(predicted_with(5e-6, 1e-10, 3e-10), 8).to_text();
  EXPECT_EQ(Selection::parse(text, "text").to_text(), text);
}

}  // namespace lockstep
