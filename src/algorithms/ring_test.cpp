#include "algorithms/catalog.h"
#include "schedule/promise.h"
#include "schedule/proof.h"
#include "schedule/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

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

TEST(Ring, RanksOfAHostAreNeighboursWhateverTheirNumbers) {
  // Ranks dealt out to three hosts in turn: in the order given, every hop would cross from host to host.
  const std::vector<int> hosts{0, 1, 2, 0, 1, 2, 0, 1, 2};
  const auto crossings = [&](const Schedule& schedule) {
    int most = 0;
    for (const Step& step : schedule.steps) {
      int crossing = 0;
      for (const auto& [kind, chunk, from, to] : step) crossing += hosts[from] != hosts[to] ? 1 : 0;
      most = std::max(most, crossing);
    }
    return most;
  };
  for (const auto& [name, ways] : {std::pair("ring", 1), {"bidirectional_ring", 2}}) {
    const Algorithm ring = find_algorithm(name);
    for (const Collective collective : ring.collectives) {
      ScheduleRequest request{.collective = collective, .ranks = 9, .root = has_root(collective) ? 4 : 0};
      if (!has_root(collective)) {
        EXPECT_EQ(crossings(ring.build(request)), 9 * ways);
      }
      request.hosts = hosts;
      const Schedule schedule = ring.build(request);
      EXPECT_LE(crossings(schedule), 3 * ways) << "one hop each way from each host to the next";
      EXPECT_TRUE(prove(schedule).proved());
      EXPECT_EQ(schedule.root, request.root);
      request.only_rank = 5;
      EXPECT_EQ(view_of(ring.build(request), 5), view_of(schedule, 5));
    }
  }
}

}  // namespace lockstep
