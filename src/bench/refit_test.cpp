#include "bench/refit.h"

#include "algorithms/catalog.h"
#include "base/error_for_tests.h"
#include "bench/held_back.h"
#include "planner/one_host/machine_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::bench {

namespace {

/// What a byte costs, and what else does.
template <class Costs>
Costs prices() {
  Costs seconds;
  seconds.values.fill(1e-10);
  seconds[Costs::kOperation] = 1e-6;
  seconds[Costs::kSwitch] = 2e-6;
  return seconds;
}

double in_shared_memory(const Schedule& schedule, double bytes) {
  return HostModel{prices<HostCosts>()}.predict(HostJob(schedule), {bytes}, machine_for_tests());
}

double over_tcp(const Schedule& schedule, double bytes) {
  return TcpModel{.seconds = prices<TcpCosts>(), .cores = 2, .most_ranks = 4}.predict(TcpJob(schedule), bytes);
}

/// Of 2, 3 and 4 ranks: what `seconds(schedule, bytes)` says.
template <class Seconds>
std::vector<Sample> samples_that_take(const Seconds& seconds) {
  std::vector<Sample> samples;
  for (const char* algorithm : {"naive", "direct", "ring", "tree"}) {
    for (const int ranks : {2, 3, 4}) {
      const Schedule schedule = find_algorithm(algorithm).build({.ranks = ranks});
      for (double bytes = 256; bytes < 1e5; bytes *= 2) {
        for (const double size : {bytes, bytes * 3 / 2}) {
          Sample sample{.algorithm = algorithm, .ranks = ranks, .bytes = size};
          sample.seconds = seconds(schedule, size);
          samples.push_back(sample);
        }
      }
    }
  }
  return samples;
}

Calibration calibration_of(std::vector<Sample> in_memory, std::vector<Sample> over_tcp) {
  Calibration calibration{.machine = machine_for_tests()};
  calibration.samples = std::move(in_memory);
  calibration.tcp.samples = std::move(over_tcp);
  return calibration;
}

}  // namespace

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
