#include "bench/calibration_points.h"

#include "schedule/promise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace lockstep::bench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::Not;

using What = std::set<std::pair<Collective, MemoryKind>>;

/// Of so many ranks.
What measured(const CalibrationPoints& points, int ranks) {
  What what;
  for (const auto* some : {&points.fitted, &points.others}) {
    for (const Point& point : *some) {
      if (point.ranks == ranks) what.insert({point.collective, point.memory});
    }
  }
  return what;
}

What every_collective(const std::vector<MemoryKind>& memories) {
  What what;
  for (const Collective collective : kCollectives) {
    if (collective == Collective::kBarrier) continue;
    for (const MemoryKind memory : memories) what.insert({collective, memory});
  }
  return what;
}

TEST(CalibrationPoints, AreOfEveryCollectiveAlsoWhereANumberOfRanksIsHeldBack) {
  const CalibrationPoints in_memory = calibration_points(Medium::kSharedMemory, Numbers(4));
  const CalibrationPoints over_tcp = calibration_points(Medium::kTcp, Numbers(4));
  for (const int ranks : {2, 3, 4}) {
    EXPECT_EQ(measured(in_memory, ranks), every_collective({MemoryKind::kRegistered, MemoryKind::kPlain})) << ranks;
    EXPECT_EQ(measured(over_tcp, ranks), every_collective({MemoryKind::kRegistered})) << ranks;
  }
  EXPECT_EQ(measured(in_memory, 5), What{});
}

TEST(CalibrationPoints, PricesAreFittedToWhatOnlySumsAndOnlyCopiesOnRegisteredMemory) {
  const CalibrationPoints points = calibration_points(Medium::kSharedMemory, Numbers(2));
  EXPECT_THAT(points.fitted, Each(Field(&Point::memory, MemoryKind::kRegistered)));
  EXPECT_THAT(points.fitted, Contains(Field(&Point::collective, Collective::kAllReduce)));
  EXPECT_THAT(points.fitted, Contains(Field(&Point::collective, Collective::kAllGather)));
  EXPECT_THAT(points.fitted, Not(Contains(Field(&Point::collective, Collective::kBroadcast))));
  EXPECT_THAT(points.others, Not(Contains(AllOf(Field(&Point::collective, Collective::kAllReduce),
                                                Field(&Point::memory, MemoryKind::kRegistered)))))
      << "which is among what is fitted";
}

TEST(CalibrationPoints, SizesThatAreHeldBackAreMeasuredToo) {
  const CalibrationPoints points = calibration_points(Medium::kTcp, Numbers(2));
  for (const auto& sizes : {known_sizes(Medium::kTcp), held_back_sizes()}) {
    for (const std::size_t bytes : sizes) EXPECT_THAT(points.fitted, Contains(Field(&Point::bytes, bytes)));
  }
}

}  // namespace
}  // namespace lockstep::bench
