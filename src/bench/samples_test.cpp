#include "bench/samples.h"

#include "algorithms/catalog.h"
#include "schedule/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep::bench {

using testing::Gt;
using testing::SizeIs;

TEST(Samples, PointsAreEveryAlgorithmAtEverySize) {
  const std::vector<Point> points = points_at({Collective::kAllReduce, Collective::kAllGather}, {4, 1024}, 3);
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather}) {
    std::vector<std::pair<std::string, std::size_t>> expected;
    for (const std::string_view name : algorithms_for(collective)) {
      for (const std::size_t bytes : {4, 1024}) expected.emplace_back(name, bytes);
    }
    std::vector<std::pair<std::string, std::size_t>> found;
    for (const Point& point : points) {
      if (point.collective == collective) found.emplace_back(point.algorithm, point.bytes);
    }
    EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected)) << to_string(collective);
  }
  for (const Point& point : points) EXPECT_EQ(point.ranks, 3);
  const auto at = [](int ranks) { return points_at({Collective::kAllReduce}, {4}, ranks).size(); };
  EXPECT_LT(at(64), at(2)) << "some would take too long";
}

/// Whether rounds agree depends on the machine; that all that may be asked for end, does not.
TEST(Samples, MoreRoundsEnd) {
  const std::vector<Point> points{{Collective::kAllReduce, "direct", 2, 1024}};
  int rounds = 0;
  const Sampling sampling{
      .rounds = 1, .passes_of_small = 2, .more_rounds = 3, .seconds_a_round = 1e-5, .begins_round = [&](int round) {
        EXPECT_EQ(round, rounds++);
      }};
  EXPECT_THAT(take_samples(sampling, points).at(0).seconds, Gt(0));
  EXPECT_THAT(rounds, testing::AllOf(testing::Ge(1), testing::Le(4)));
}

TEST(Samples, WhatDiffersInItsNameAloneIsMeasuredOnce) {
  const std::vector<Point> points{{Collective::kAllReduce, "star", 2, 1024}, {Collective::kAllReduce, "tree", 2, 1024}};
  const auto samples = take_samples({.rounds = 1, .seconds_a_round = 1e-5}, points);
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].seconds, samples[1].seconds);
  EXPECT_EQ(samples[1].algorithm, "tree");
}

TEST(Samples, EachPointIsMeasuredOverEitherMedium) {
  std::vector<Point> points{{Collective::kAllReduce, "ring", 3, 4096}, {Collective::kAllGather, "direct", 4, 4}};
  for (const Collective collective : {Collective::kReduce, Collective::kScatter, Collective::kAllToAll}) {
    const std::string name(algorithms_for(collective).front());
    points.push_back({collective, name, 3, 8192});
    points.push_back({collective, name, 3, 8192, MemoryKind::kPlain});
  }
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const auto samples = take_samples({.medium = medium, .rounds = 2, .seconds_a_round = 1e-4}, points);
    ASSERT_THAT(samples, SizeIs(points.size()));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      EXPECT_EQ(samples[i].collective, points[i].collective);
      EXPECT_EQ(samples[i].algorithm, points[i].algorithm);
      EXPECT_EQ(samples[i].bytes, points[i].bytes);
      EXPECT_EQ(samples[i].memory, points[i].memory);
      EXPECT_EQ(samples[i].ranks, points[i].ranks);
      EXPECT_THAT(samples[i].seconds, Gt(0));
      EXPECT_EQ(samples[i].job->schedule.name, points[i].algorithm);
    }
  }
}

}  // namespace lockstep::bench
