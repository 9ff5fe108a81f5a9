#include "bench/row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::bench {

namespace {

using testing::DoubleNear;
using testing::ElementsAre;

}  // namespace

/// Iteration i takes i + 1 microseconds on the rank that is slow then, and nearly none on the others.
TEST(Row, AnIterationTakesAsLongAsOnItsSlowestRankAndAllRanksErrorsCount) {
  constexpr int kRanks = 3;
  constexpr int kIterations = 200;
  run_threads(kRanks, [](World& world) {
    RankTimes times{.seconds = {}, .rounds = 4, .wrong = 3U + static_cast<unsigned>(world.rank())};
    for (int i = 0; i < kIterations; ++i) times.seconds.push_back(i % kRanks == world.rank() ? (i + 1) * 1e-6 : 1e-9);
    Row row{.bytes = 3 << 20};
    sum_up(world, {.collective = Collective::kAllGather, .ranks = kRanks}, times, row);
    EXPECT_NEAR(row.median_us, 100.5, 1e-6);
    EXPECT_NEAR(row.p99_us, 198, 1e-6);
    EXPECT_THAT(row.round_median_us, ElementsAre(DoubleNear(25.5, 1e-6), DoubleNear(75.5, 1e-6),
                                                 DoubleNear(125.5, 1e-6), DoubleNear(175.5, 1e-6)));
    EXPECT_EQ(row.iterations, 200U);
    EXPECT_EQ(row.wrong, 12U) << "3, 4 and 5";
    EXPECT_NEAR(row.algbw_gb_per_s, (3 << 20) / 100.5e-6 / 1e9, 1e-9);
    EXPECT_NEAR(row.busbw_gb_per_s, row.algbw_gb_per_s * 2 / 3, 1e-9);
  });
}

}  // namespace lockstep::bench
