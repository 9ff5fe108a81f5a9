#include "planner/host_model.h"

#include "algorithms/catalog.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

constexpr std::size_t kCopied = HostModel::kOtherFeatures;

constexpr Machine kMachine{.processor = "test",
                           .cores = 2,
                           .memory_bytes = 1e9,
                           .cache_bytes_a_core = 1 << 20,
                           .cache_bytes_shared = 32 << 20};

HostSample sample(const char* algorithm, int ranks, double bytes, const HostModel& truth) {
  const Schedule schedule = find_algorithm(algorithm).build({.ranks = ranks});
  HostSample result{.algorithm = algorithm, .ranks = ranks, .bytes = bytes, .seconds = 0, .features = {}};
  result.features = features_of(schedule, bytes, kMachine);
  result.seconds = truth.predict(result.features);
  return result;
}

std::vector<HostSample> samples(const HostModel& truth, std::initializer_list<int> ranks, double first_bytes) {
  std::vector<HostSample> all;
  for (const char* algorithm : {"direct", "ring", "tree"}) {
    for (const int n : ranks) {
      for (double bytes = first_bytes; bytes < 2e9; bytes *= 8) all.push_back(sample(algorithm, n, bytes, truth));
    }
  }
  return all;
}

}  // namespace

TEST(HostModel, CountsWhatTheBusiestCoreDoes) {
  const Schedule direct = find_algorithm("direct").build({.ranks = 4});
  const HostModel::Features features = features_of(direct, 1000, kMachine);
  EXPECT_EQ(features[0], 1);
  EXPECT_EQ(features[1], 1) << "two ranks a core";
  EXPECT_EQ(features[2], 2) << "steps";
  EXPECT_EQ(features[3], 2) << "two ranks a core";
  EXPECT_EQ(features[4], 12) << "each of a core's two ranks takes three, then three again";
  EXPECT_EQ(features[kCopied], 1500) << "small: all in the own caches";
  EXPECT_EQ(features[kCopied + HostModel::kLevels], 1500);
  const HostModel::Features large = features_of(direct, 1e9, kMachine);
  EXPECT_EQ(large[kCopied], 0);
  EXPECT_NEAR(large[kCopied + HostModel::kLevels - 1], 1.5e9, 1);
}

TEST(HostModel, FindsTheCostsThatMadeTheSamples) {
  const HostModel truth{{2e-7, 1e-6, 3e-7, 4e-6, 1e-8, 2e-11, 4e-11, 8e-11, 2e-10, 3e-11, 5e-11, 1e-10, 3e-10}};
  const HostModel found = fit(samples(truth, {2, 4, 8}, 4));
  const PredictionError error = error_of(found, samples(truth, {3, 6}, 100));
  EXPECT_LT(error.worst, 0.02);
  EXPECT_LE(error.median, error.worst);
}

TEST(HostModel, NoCostIsBelowZero) {
  std::vector<HostSample> odd = samples({{1e-7, 0, 1e-7}}, {2, 4}, 4);
  for (std::size_t i = 0; i < odd.size(); ++i) odd[i].seconds *= i % 2 == 0 ? 0.1 : 10;
  for (const double seconds : fit(odd).seconds) EXPECT_GE(seconds, 0);
}

TEST(HostModel, NeedsMeasurements) {
  EXPECT_THROW(fit({}), Error);
  EXPECT_EQ(error_of({}, {}).worst, 0);
}

}  // namespace lockstep
