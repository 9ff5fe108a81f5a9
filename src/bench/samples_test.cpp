#include "bench/samples.h"

#include "schedule/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace lockstep::bench {

using testing::Gt;
using testing::SizeIs;

TEST(Samples, PointsAreEveryAlgorithmAtEverySize) {
  const std::vector<Point> points = points_at({4, 1024}, 3);
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather}) {
    std::set<std::pair<std::string, std::size_t>> found;
    for (const Point& point : points) {
      if (point.collective == collective) found.emplace(point.algorithm, point.bytes);
    }
    EXPECT_TRUE(found.contains({"ring", 4}) && found.contains({"ring", 1024}) && found.contains({"direct", 1024}));
  }
  EXPECT_LT(points_at({4}, 64).size(), points_at({4}, 2).size()) << "some would take too long";
}

TEST(Samples, EachPointIsMeasuredOverEitherMedium) {
  const std::vector<Point> points{{Collective::kAllReduce, "ring", 4096}, {Collective::kAllGather, "direct", 4}};
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const auto samples = take_samples({.medium = medium, .ranks = 3, .rounds = 2, .seconds_a_round = 1e-4}, points);
    ASSERT_THAT(samples, SizeIs(2));
    for (std::size_t i = 0; i < samples.size(); ++i) {
      EXPECT_EQ(samples[i].collective, points[i].collective);
      EXPECT_EQ(samples[i].algorithm, points[i].algorithm);
      EXPECT_EQ(samples[i].bytes, points[i].bytes);
      EXPECT_EQ(samples[i].ranks, 3);
      EXPECT_THAT(samples[i].seconds, Gt(0));
      EXPECT_EQ(samples[i].job->schedule.name, points[i].algorithm);
    }
  }
}

}  // namespace lockstep::bench
