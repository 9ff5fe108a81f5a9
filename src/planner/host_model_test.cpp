#include "planner/host_model.h"

#include "algorithms/catalog.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

namespace {

constexpr std::size_t kHeld = HostModel::kOtherFeatures;
constexpr std::size_t kFetched = kHeld + HostModel::kLevels - 1;

constexpr Machine kMachine{.processor = "test",
                           .cores = 2,
                           .memory_bytes = 1e9,
                           .cache_bytes_a_core = 1 << 20,
                           .cache_bytes_shared = 32 << 20};

HostSample sample(const char* algorithm, int ranks, double bytes, const HostModel& truth) {
  const HostJob job(find_algorithm(algorithm).build({.ranks = ranks}), kMachine);
  HostSample result{.algorithm = algorithm, .ranks = ranks, .bytes = bytes, .seconds = 0, .features = {}};
  result.features = features_of(job, bytes, kMachine);
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

TEST(HostModel, PricesWorkByTurnsMovesAndBytes) {
  const HostJob direct(find_algorithm("direct").build({.ranks = 4}), kMachine);
  const HostModel::Features features = features_of(direct, 1000, kMachine);
  EXPECT_EQ(features[0], 1);
  EXPECT_EQ(features[1], 0) << "no rank has a core to itself";
  EXPECT_EQ(features[2], direct.work.turns);
  EXPECT_EQ(features[3], 2) << "moves of a core's two ranks";
  EXPECT_EQ(features[4], 4000) << "bytes that a core reads and writes";
  EXPECT_EQ(features[kHeld], 0) << "small: all in the own caches";
  EXPECT_EQ(features[kFetched], 0);
  const HostModel::Features large = features_of(direct, 1e9, kMachine);
  EXPECT_EQ(large[kHeld], 0);
  EXPECT_NEAR(large[kFetched - 1], 2e9, 1) << "what is read is written, and brought from memory once";
  const HostJob two(find_algorithm("direct").build({.ranks = 2}), kMachine);
  EXPECT_EQ(features_of(two, 1000, kMachine)[1], two.work.turns) << "two ranks have a core each";
}

TEST(HostModel, FindsTheCostsThatMadeTheSamples) {
  const HostModel truth{{2e-7, 4e-7, 1.5e-6, 6e-8, 4e-12, 5e-12, 2e-11, 4e-11, 6e-11, 3e-11, 2e-11, 1e-10}};
  const HostModel found = fit(samples(truth, {2, 4, 8}, 4));
  const PredictionError error = error_of(found, samples(truth, {3, 6}, 100));
  EXPECT_LT(error.worst, 0.02);
  EXPECT_LE(error.median, error.worst);
}

TEST(HostModel, DisturbedSamplesCountLittle) {
  const HostModel truth{{2e-7, 4e-7, 1.5e-6, 6e-8, 4e-12, 5e-12, 2e-11, 4e-11, 6e-11, 3e-11, 2e-11, 1e-10}};
  std::vector<HostSample> disturbed = samples(truth, {2, 4, 8}, 4);
  for (std::size_t i = 0; i < disturbed.size(); i += 7) disturbed[i].seconds *= 3;
  EXPECT_LT(error_of(fit(disturbed), samples(truth, {2, 4, 8}, 4)).median, 0.03);
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
