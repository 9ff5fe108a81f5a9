#include "algorithms/shape_for_tests.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Circulant, IsOptimalInStepsAndBytesForAnyNumberOfRanks) {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    SCOPED_TRACE(ranks);
    for (const Collective half : {Collective::kReduceScatter, Collective::kAllGather}) {
      const Schedule schedule = shape::build("circulant", ranks, half);
      EXPECT_EQ(schedule.steps.size(), shape::ceil_log2(ranks));
      for (const int chunks : shape::sent(schedule)) EXPECT_EQ(chunks, ranks - 1);
      EXPECT_EQ(shape::most_peers_in_a_step(schedule), 1);
    }
    EXPECT_EQ(shape::build("circulant", ranks).steps.size(), 2 * shape::ceil_log2(ranks));
  }
}

TEST(Circulant, SkipsAreHalvesRoundedUp) {
  const Schedule schedule = shape::build("circulant", 7, Collective::kReduceScatter);
  const int skips[] = {4, 2, 1};
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    for (const Transfer& transfer : schedule.steps[i]) EXPECT_EQ(transfer.to, (transfer.from + skips[i]) % 7);
  }
}

TEST(Circulant, ABroadcastScattersFirstAndSendsNothingBackToItsRoot) {
  const Schedule schedule = shape::build("circulant", 6, Collective::kBroadcast, 4);
  EXPECT_EQ(schedule.steps.size(), 1 + shape::ceil_log2(6));
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) EXPECT_NE(transfer.to, 4);
  }
}

}  // namespace lockstep
