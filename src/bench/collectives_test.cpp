#include "bench/collectives.h"

#include "schedule/promise.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep::bench {

/// https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
TEST(Collectives, BusBandwidthIsByTheFactorsOfNcclTests) {
  const std::map<Collective, double> of_four{
      {Collective::kAllReduce, 1.5}, {Collective::kReduceScatter, 0.75}, {Collective::kAllGather, 0.75},
      {Collective::kAllToAll, 0.75}, {Collective::kGather, 0.75},        {Collective::kScatter, 0.75},
      {Collective::kBroadcast, 1},   {Collective::kReduce, 1},           {Collective::kBarrier, 0}};
  for (const Collective collective : kCollectives) {
    EXPECT_EQ(facts_of(collective).collective, collective);
    EXPECT_EQ(facts_of(collective).bus_factor(4), of_four.at(collective)) << to_string(collective);
  }
}

TEST(Collectives, ABufferHasWholeElementsOfEachBlockAndAtLeastOne) {
  EXPECT_EQ(whole_bytes(Collective::kAllReduce, 7, DataType::kFloat32, 3), 4U);
  EXPECT_EQ(whole_bytes(Collective::kAllGather, 35, DataType::kFloat32, 3), 24U);
  EXPECT_EQ(whole_bytes(Collective::kAllGather, 4, DataType::kFloat32, 3), 12U);
}

}  // namespace lockstep::bench
