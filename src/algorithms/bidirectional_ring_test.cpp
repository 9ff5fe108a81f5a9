#include "algorithms/shape_for_tests.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(BidirectionalRing, SendsHalfEachWayInEveryStep) {
  for (int ranks = 3; ranks <= 9; ++ranks) {
    const Schedule schedule = shape::build("bidirectional_ring", ranks);
    EXPECT_EQ(schedule.steps.size(), 2U * (ranks - 1));
    EXPECT_EQ(schedule.chunks, 2 * ranks);
    for (const Step& step : schedule.steps) {
      int forward = 0;
      int backward = 0;
      for (const Transfer& transfer : step) {
        forward += transfer.to == (transfer.from + 1) % ranks ? 1 : 0;
        backward += transfer.from == (transfer.to + 1) % ranks ? 1 : 0;
      }
      EXPECT_EQ(forward, ranks);
      EXPECT_EQ(backward, ranks);
      EXPECT_EQ(step.size(), 2U * ranks);
    }
    for (const int chunks : shape::sent(schedule)) EXPECT_EQ(chunks, 4 * (ranks - 1)) << "2 (n - 1) / n of the buffer";
  }
}

}  // namespace lockstep
