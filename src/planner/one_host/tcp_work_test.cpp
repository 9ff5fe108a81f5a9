#include "planner/one_host/tcp_work.h"

#include "algorithms/catalog.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep {

namespace {

TcpCosts tcp_prices() {
  TcpCosts seconds;
  seconds.values.fill(1e-7);
  for (std::size_t size = 0; size <= TcpCost::kSizes.size(); ++size) seconds[TcpCost::kByte + size] = 1e-10;
  seconds[TcpCost::kColdByte] = 1e-10;
  return seconds;
}

TcpCosts work(const char* algorithm, double bytes, int cores, Collective collective = Collective::kAllReduce) {
  return work_of(TcpJob(find_algorithm(algorithm).build({.collective = collective, .ranks = 4})), bytes, cores,
                 tcp_prices());
}

double moved_bytes(const TcpCosts& costs) {
  const auto first = costs.values.begin() + TcpCost::kByte;
  return std::accumulate(first, first + TcpCost::kSizes.size(), 0.0);
}

}  // namespace

/// 2 (G - 1) N in all, half of it reduced, whether the buffer goes as a whole or in pieces.
TEST(TcpWork, OneCoreMovesWhatARingMoves) {
  for (const double bytes : {4096.0, 1048576.0, 67108864.0}) {
    const TcpCosts ring = work("ring", bytes, 1);
    EXPECT_NEAR(moved_bytes(ring), 6 * bytes, 1e-6 * bytes);
    EXPECT_NEAR(ring[TcpCost::kReducedByte], 3 * bytes, 1e-6 * bytes);
  }
}

/// Half of what a rank sends first is its own, and what comes back stays: 3 + 3 of 4 chunks, each at one end.
TEST(TcpWork, OfLargeBuffersWhatWasNotTouchedIsCold) {
  const double bytes = 1 << 26;
  const TcpCosts direct = work("direct", bytes, 1);
  EXPECT_NEAR(direct[TcpCost::kColdByte], 0.5 * (3 * bytes + 3 * bytes), 1e-6 * bytes);
  EXPECT_EQ(work("direct", 1 << 18, 1)[TcpCost::kColdByte], 0);
}

/// All cores work on a direct exchange all the time, and share the memory's bus for what they move.
TEST(TcpWork, OfLargeBuffersCoresThatWorkAtOnceShareTheBus) {
  const double bytes = 1 << 26;
  EXPECT_EQ(work("direct", bytes, 1)[TcpCost::kContendedColdByte], 0);
  EXPECT_EQ(work("direct", 1 << 18, 2)[TcpCost::kContendedColdByte], 0);
  const TcpCosts direct = work("direct", bytes, 2);
  EXPECT_NEAR(direct[TcpCost::kContendedColdByte], moved_bytes(direct), 0.1 * moved_bytes(direct));
}

/// Chunks are cut on cache lines: of 64 bytes there is one, which goes to all and comes from all.
TEST(TcpWork, SmallBuffersHaveEmptyChunks) {
  const TcpCosts small = work("direct", 64, 1);
  EXPECT_NEAR(moved_bytes(small), 6 * 64, 1e-6);
  EXPECT_LT(small[TcpCost::kMessage], work("direct", 4096, 1)[TcpCost::kMessage]);
}

/// Blocks are cut exactly, and have an element at least.
TEST(TcpWork, EveryRanksBlockHasSomething) {
  const TcpCosts smallest = work("ring", 4, 1, Collective::kAllGather);
  EXPECT_NEAR(moved_bytes(smallest), 3 * 16, 1e-6);
  EXPECT_EQ(smallest[TcpCost::kMessage], work("ring", 4096, 1, Collective::kAllGather)[TcpCost::kMessage]);
}

/// An all_gather keeps all that it receives, so that four ranks have four buffers in their hands.
TEST(TcpWork, ByteCostsGoByWhatACoreHasInItsHands) {
  const TcpCosts small = work("ring", 1 << 10, 1, Collective::kAllGather);
  EXPECT_GT(small[TcpCost::kByte], 0);
  EXPECT_EQ(small[TcpCost::kByte + 1], 0);
  const TcpCosts between = work("ring", 1 << 13, 1, Collective::kAllGather);  // halfway, in logarithms
  EXPECT_NEAR(between[TcpCost::kByte], between[TcpCost::kByte + 1], 1e-6);
  EXPECT_GT(work("ring", double{1 << 28}, 4)[TcpCost::kByte + 3], 0);
}

/// Each receives the whole buffers of three others, a ring's ranks three quarters of one.
TEST(TcpWork, WhatIsReceivedToBeSummedIsInTheHandsToo) {
  const auto share_of_large = [](const TcpCosts& costs) { return costs[TcpCost::kByte + 1] / moved_bytes(costs); };
  EXPECT_GT(share_of_large(work("naive", 1 << 13, 1)), 1.1 * share_of_large(work("ring", 1 << 13, 1)));
}

/// Of what goes up with the bytes, no more than of the size itself.
TEST(TcpWork, ASizeIsTheMeanOfThoseAround) {
  for (const double bytes : {65536.0, 1048576.0}) {
    const TcpCosts mean = work("ring", bytes, 1);
    EXPECT_NEAR(moved_bytes(mean), 6 * bytes, 1e-4 * bytes);
  }
}

/// Over loopback 64 MiB go in pieces of 1 MiB, which are nearer.
TEST(TcpWork, PiecesStayInTheCaches) {
  for (const int cores : {2, 4}) {
    const TcpCosts in_pieces = work("ring", 1 << 26, cores);
    EXPECT_GT(in_pieces[TcpCost::kByte + 2], in_pieces[TcpCost::kByte + 3]) << cores;
  }
}

TEST(TcpWork, MoreCoresThanRanksHelpNobody) {
  EXPECT_EQ(work("ring", 65536, 4).values, work("ring", 65536, 64).values);
}

}  // namespace lockstep
