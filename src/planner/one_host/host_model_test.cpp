#include "planner/one_host/host_model.h"

#include "algorithms/catalog.h"
#include "planner/one_host/machine_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

/// In the order of HostCosts.
constexpr HostModel kTruth{
    {{}, {1e-7,  9e-7,  2e-7,  6e-8,  7e-12,   6e-12, 3e-12, 3e-12, 8e-12, 7e-12, 4e-12, 1.1e-11, 2e-11, 9e-12,
          6e-12, 1e-11, 5e-11, 1e-10, 1.2e-10, 3e-11, 6e-11, 2e-11, 1e-11, 1e-11, 5e-7,  1e-11,   2e-7,  2e-10}}};

std::vector<Sample> samples(const HostModel& truth, std::initializer_list<int> ranks, double first_bytes) {
  std::vector<Sample> all;
  for (const char* algorithm : {"naive", "direct", "ring", "tree"}) {
    for (const int n : ranks) {
      const auto job = std::make_shared<HostJob>(find_algorithm(algorithm).build({.ranks = n}));
      for (double bytes = first_bytes; bytes < 1e8; bytes *= 4) {
        const double seconds = truth.predict(*job, {bytes}, machine_for_tests());
        all.push_back({.algorithm = algorithm, .ranks = n, .bytes = bytes, .seconds = seconds, .job = job});
      }
    }
  }
  return all;
}

PredictionError error_of_model(const HostModel& model, const std::vector<Sample>& samples) {
  return error_of(
      samples, [&](const Sample& sample) { return model.predict(*sample.job, {sample.bytes}, machine_for_tests()); });
}

}  // namespace

TEST(HostModel, FindsTheCostsThatMadeTheSamples) {
  const HostModel found = fit(samples(kTruth, {2, 4, 8}, 4), machine_for_tests());
  const PredictionError error = error_of_model(found, samples(kTruth, {3, 6}, 100));
  EXPECT_LT(error.median, 0.01);
  EXPECT_LT(error.worst, 0.1);
}

TEST(HostModel, DisturbedSamplesCountLittle) {
  std::vector<Sample> disturbed = samples(kTruth, {2, 4, 8}, 4);
  for (std::size_t i = 0; i < disturbed.size(); i += 7) disturbed[i].seconds *= 3;
  EXPECT_LT(error_of_model(fit(disturbed, machine_for_tests()), samples(kTruth, {2, 4, 8}, 4)).median, 0.05);
}

TEST(HostModel, NoCostIsBelowZero) {
  std::vector<Sample> odd = samples(kTruth, {2, 4}, 4);
  for (std::size_t i = 0; i < odd.size(); ++i) odd[i].seconds *= i % 2 == 0 ? 0.1 : 10;
  for (const double seconds : fit(odd, machine_for_tests()).seconds.values) EXPECT_GE(seconds, 0);
}

TEST(HostModel, NeedsMeasurements) {
  EXPECT_THROW(fit({}, machine_for_tests()), Error);
  EXPECT_EQ(error_of_model({}, {}).worst, 0);
}

}  // namespace lockstep
