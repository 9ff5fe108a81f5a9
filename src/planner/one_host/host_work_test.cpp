#include "planner/one_host/host_work.h"

#include "algorithms/catalog.h"
#include "planner/one_host/machine_for_tests.h"
#include "schedule/promise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {

namespace {

constexpr double kMiB = 1 << 20;

HostCosts prices() {
  HostCosts seconds;
  seconds.values.fill(1e-11);
  seconds[HostCosts::kOperation] = 1e-7;
  seconds[HostCosts::kSwitch] = 1e-6;
  seconds[HostCosts::kProgress] = 2e-7;
  seconds[HostCosts::kMove] = 5e-8;
  seconds[HostCosts::kLetter] = 3e-7;
  return seconds;
}

HostCosts work(const char* algorithm, int ranks, int cores, double bytes,
               Collective collective = Collective::kAllReduce) {
  const HostJob job(find_algorithm(algorithm).build({.collective = collective, .ranks = ranks}));
  return work_of(job, {bytes}, machine_for_tests(cores), prices());
}

}  // namespace

TEST(HostWork, AFusedExchangeAccessesEachChunkOnceOnEveryRank) {
  const HostCosts direct = work("direct", 4, 4, 4096);
  EXPECT_EQ(direct[HostCosts::kMove], 1);
  EXPECT_EQ(direct[HostCosts::kByte], 8 * 1024) << "four chunks are read, the sum goes to four";
  EXPECT_EQ(direct[HostCosts::kFetchedByte], 0) << "a chunk is always the same rank's work";
}

/// So that of each chunk three quarters are another core's, and in small batches count.
TEST(HostWork, BeforeABatchEveryRankHasWrittenItsBuffers) {
  HostCosts slow = prices();
  const auto fetched = [&](double operation_s) {
    slow[HostCosts::kOperation] = operation_s;
    const HostJob job(find_algorithm("direct").build({.collective = Collective::kAllReduce, .ranks = 4}));
    return work_of(job, {4096}, machine_for_tests(4), slow)[HostCosts::kFetchedByte];
  };
  EXPECT_EQ(fetched(1e-3), 3 * 1024) << "an operation alone";
  EXPECT_EQ(fetched(90e-6), 3 * 1024 / 3.0) << "one of three";
  EXPECT_EQ(fetched(1e-6), 0) << "one of very many";
}

TEST(HostWork, WhatAnotherCoreWroteIsFetched) {
  EXPECT_GT(work("ring", 4, 4, kMiB, Collective::kAllGather)[HostCosts::kFetchedByte], 0);
  EXPECT_EQ(work("ring", 4, 1, kMiB, Collective::kAllGather)[HostCosts::kFetchedByte], 0) << "there is no other core";
  const HostCosts naive = work("naive", 2, 2, 65536);
  EXPECT_EQ(naive[HostCosts::kByte], 5 * 65536) << "a copy into staging, then two are read and one is written";
  EXPECT_EQ(naive[HostCosts::kFetchedByte], 65536);
}

TEST(HostWork, WhatIsTouchedBetweenOperationsPushesTheirBuffersOutOfTheCaches) {
  const HostJob job(find_algorithm("direct").build({.collective = Collective::kAllReduce, .ranks = 2}));
  const auto from_level = [&](double touched_between, std::size_t level) {
    return work_of(job, {65536, touched_between}, machine_for_tests(2), prices())[HostCosts::kFirstLevel + level];
  };
  EXPECT_EQ(from_level(0, 2), 0) << "warm buffers stay in a core's own caches";
  EXPECT_GT(from_level(100 * kMiB, 2), 0);
  EXPECT_GE(from_level(1000 * kMiB, 3), from_level(100 * kMiB, 3));
}

TEST(HostWork, CoresWithMoreRanksHaveMoreToDo) {
  EXPECT_EQ(work("direct", 4, 2, kMiB)[HostCosts::kMove], 2);
  EXPECT_EQ(work("direct", 4, 1, kMiB)[HostCosts::kMove], 4);
  EXPECT_EQ(work("star", 4, 1, kMiB)[HostCosts::kMove], 1) << "the centre's, wherever it runs";
}

TEST(HostWork, ASmallExchangeOfOneStepIsALetter) {
  const HostCosts own = work("naive", 2, 2, 256);
  EXPECT_EQ(own[HostCosts::kLetter], 1);
  EXPECT_EQ(own[HostCosts::kLetterByte], 256) << "of the one other";
  EXPECT_EQ(own[HostCosts::kSwitch], 0);
  EXPECT_EQ(own[HostCosts::kByte], 0) << "no plan runs";
  const HostCosts shared = work("naive", 4, 2, 256);
  EXPECT_EQ(shared[HostCosts::kLetterByte], 512) << "of two ranks on the other core";
  EXPECT_GT(shared[HostCosts::kSwitch], 0);
  const HostCosts uneven = work("naive", 3, 2, 256);
  EXPECT_EQ(uneven[HostCosts::kLetter], 1 + 0.7 * uneven[HostCosts::kSwitch]) << "the third has a core alone and looks";
  EXPECT_EQ(uneven[HostCosts::kLetterByte], 256) << "of the third, once";
  EXPECT_EQ(shared[HostCosts::kLetter], 1) << "nobody has";
  EXPECT_EQ(work("naive", 2, 2, 4096)[HostCosts::kLetter], 0);
  EXPECT_EQ(work("direct", 2, 2, 256)[HostCosts::kLetter], 0) << "two steps";
  EXPECT_EQ(work("direct", 2, 2, 0)[HostCosts::kLetter], 0) << "of nothing, too";
  EXPECT_EQ(work("direct", 4, 4, 4096, Collective::kAllGather)[HostCosts::kLetterByte], 3 * 1024) << "blocks of three";
}

TEST(HostWork, LargeResultsArePastTheCaches) {
  const auto streamed = [](double bytes) {
    return work("direct", 2, 2, bytes, Collective::kAllGather)[HostCosts::kStreamedByte];
  };
  EXPECT_EQ(streamed(16 * kMiB), 0);
  EXPECT_EQ(streamed(64 * kMiB), 32 * kMiB) << "a rank's copy of the other's block";
}

/// What ranks of AMD's processors leave in the same place each time goes past the caches, from 2 KiB on.
TEST(HostWork, WhoReadsWhatWentPastTheCachesWaitsForMemory) {
  const auto waits = [](const char* processor, int ranks, double bytes) {
    const HostJob job(find_algorithm("naive").build({.collective = Collective::kAllReduce, .ranks = ranks}));
    return work_of(job, {bytes}, machine_for_tests_with(processor, ranks), prices())[HostCosts::kFromMemory];
  };
  EXPECT_EQ(waits("AMD EPYC", 4, 65536), 1) << "once for all that a pass reads, in however many parts";
  EXPECT_EQ(waits("AMD EPYC", 4, 2000), 0) << "so little is left in the caches";
  EXPECT_EQ(waits("AMD EPYC", 2, 65536), 0) << "two ranks trade places";
  EXPECT_EQ(waits("Intel", 4, 65536), 0);
}

/// One of two cores brings all there is from memory, which counts as if both brought alike, on any processor.
TEST(HostWork, WhatComesFromMemoryIsShared) {
  const double all = 64 * kMiB;
  const HostJob job(find_algorithm("star").build({.collective = Collective::kBroadcast, .ranks = 2}));
  const auto costs = [&](const char* processor) {
    return work_of(job, {all}, machine_for_tests_with(processor), prices());
  };
  EXPECT_NEAR(costs("Intel")[HostCosts::kMemoryByte], all / 2, 1e-6 * all);
  EXPECT_NEAR(costs("AMD EPYC")[HostCosts::kMemoryByte], all / 2, 1e-6 * all);
  EXPECT_NEAR(costs("Intel")[HostCosts::kStreamedByte], all, 1e-6 * all) << "past the caches it is its own";
}

/// Two of three ranks share a core, which so copies two thirds.
TEST(HostWork, WhatGoesPastTheCachesIsThatCoresOwn) {
  const double all = 3 * (2.0 / 3) * 64 * kMiB;
  const HostCosts costs = work("direct", 3, 2, 64 * kMiB, Collective::kAllGather);
  EXPECT_NEAR(costs[HostCosts::kStreamedByte], all * 2.0 / 3, 1e-6 * all);
}

TEST(HostWork, ASizeIsTheMeanOfThoseAround) {
  const auto beyond = [](double bytes) { return work("direct", 2, 2, bytes)[HostCosts::kMemoryByte]; };
  EXPECT_EQ(beyond(1.5 * kMiB), 0);
  EXPECT_GT(beyond(1.8 * kMiB), 0) << "1.25 times of it, of two ranks, are more than an eighth of the shared cache";
}

TEST(HostWork, FromWhichSizeOnResultsGoPastTheCachesIsKnownToTheByte) {
  const auto streamed = [](double bytes) {
    return work("direct", 2, 2, bytes, Collective::kAllGather)[HostCosts::kStreamedByte] / bytes;
  };
  EXPECT_EQ(streamed(18 * kMiB), 0);
  EXPECT_EQ(streamed(20 * kMiB), 0) << "5/4 of the shared cache, of two ranks";
  EXPECT_NEAR(streamed(20 * kMiB + 4), 0.5, 1e-6);
  EXPECT_NEAR(streamed(24 * kMiB), 0.5, 1e-6);
}

TEST(HostWork, ALongStagedOperationIsManyPiecesAlike) {
  const HostCosts seconds = prices();
  const double once = work("naive", 2, 2, 64 * kMiB) * seconds;
  EXPECT_NEAR(work("naive", 2, 2, 512 * kMiB) * seconds, 8 * once, 0.02 * 8 * once);
}

TEST(HostWork, EveryScheduleOfTheCatalogueHasItsTime) {
  const HostCosts seconds = prices();
  for (const Collective collective : kCollectives) {
    for (const std::string_view name : algorithms_for(collective)) {
      for (int ranks = 1; ranks <= 9; ++ranks) {
        const HostJob job(find_algorithm(name).build({.collective = collective, .ranks = ranks}));
        for (const int cores : {1, 2, 3, 16}) {
          for (const double bytes : {0.0, 100.0, 1e5, 1e8}) {
            const double time = work_of(job, {bytes}, machine_for_tests(cores), seconds) * seconds;
            EXPECT_TRUE(std::isfinite(time)) << name << ", " << ranks << " ranks";
            EXPECT_GT(time, 0) << name << ", " << ranks << " ranks, " << cores << " cores, " << bytes << " bytes";
          }
        }
      }
    }
  }
}

}  // namespace lockstep
