#include "planner/one_host/timed_batch.h"

#include "planner/one_host/tcp_costs.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(TimedBatch, IsAsLongAsABarrierCannotBeSeenIn) {
  EXPECT_EQ(operations_a_batch(1e-3), 1);
  EXPECT_EQ(operations_a_batch(200e-6), 1);
  EXPECT_EQ(operations_a_batch(199e-6), 2);
  EXPECT_EQ(operations_a_batch(10e-6), 20);
  EXPECT_EQ(operations_a_batch(0), 100);
}

/// An operation takes what `steady_s` says where others follow it, and a millisecond where it begins at a barrier.
TEST(TimedBatch, OfFewTheBarrierIsPartOfWhatIsTimed) {
  TcpCosts prices;
  prices[TcpCost::kOperation] = 1;
  int batch = 0;
  const auto takes = [&](double steady_s) {
    batch = 0;
    return as_timed(Length{2, 4}, prices, [&](const Length& length) {
      if (length.from_barrier) batch = length.counted;
      TcpCosts costs;
      costs[TcpCost::kOperation] = length.from_barrier ? 1e-3 : steady_s;
      return costs;
    })[TcpCost::kOperation];
  };
  EXPECT_EQ(takes(5e-4), 1e-3);
  EXPECT_EQ(batch, 1);
  EXPECT_EQ(takes(30e-6), 1e-3);
  EXPECT_EQ(batch, 7);
  EXPECT_EQ(takes(20e-6), 20e-6);
  EXPECT_EQ(batch, 0);
}

}  // namespace lockstep
