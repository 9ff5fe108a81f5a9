#include "algorithms/catalog.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Ring, TakesTwiceNMinusOneStepsAndSpeaksToTheNextRankOnly) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (const Collective collective :
         {Collective::kAllReduce, Collective::kBroadcast, Collective::kReduce, Collective::kBarrier}) {
      const Schedule schedule = find_algorithm("ring").build({.collective = collective, .ranks = ranks});
      EXPECT_EQ(schedule.steps.size(), 2U * (ranks - 1));
      for (const Step& step : schedule.steps) {
        for (const Transfer& transfer : step) EXPECT_EQ(transfer.to, (transfer.from + 1) % ranks);
      }
    }
  }
}

TEST(Ring, RankROwnsChunkRAfterTheReduceScatter) {
  const Schedule schedule = find_algorithm("ring").build({.ranks = 5});
  for (const Transfer& last : schedule.steps[3]) {
    EXPECT_EQ(last.kind, TransferKind::kReduce);
    EXPECT_EQ(last.chunk, last.to);
  }
}

}  // namespace lockstep
