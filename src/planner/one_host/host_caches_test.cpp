#include "planner/one_host/host_caches.h"

#include "planner/one_host/machine_for_tests.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep {

namespace {

constexpr double kBlock = 64 << 10;

/// Two cores and blocks of 64 KiB: 16 of them fill a core's own cache, 512 the shared one.
class Host {
 public:
  explicit Host(std::size_t blocks) : caches_(machine_for_tests(), 2, blocks, kBlock) {}

  /// What it costs to touch these blocks one after the other.
  HostCosts read(int core, std::size_t first, std::size_t count) { return pass(core, first, count, {.reads = true}); }
  HostCosts write(int core, std::size_t first, std::size_t count) { return pass(core, first, count, {.writes = true}); }
  HostCosts stream(int core, std::size_t first, std::size_t count) {
    return pass(core, first, count, {.writes = true}, true);
  }

 private:
  struct Kind {
    bool reads = false;
    bool writes = false;
  };
  HostCosts pass(int core, std::size_t first, std::size_t count, Kind kind, bool past_caches = false) {
    HostCosts costs;
    for (std::size_t block = first; block < first + count; ++block) {
      caches_.pass(core, {{.block = block, .reads = kind.reads, .writes = kind.writes, .past_caches = past_caches}},
                   costs);
    }
    return costs;
  }

  HostCaches caches_;
};

double sum(const HostCosts& costs) { return std::accumulate(costs.values.begin(), costs.values.end(), 0.0); }

}  // namespace

TEST(HostCaches, WhatACoreHadJustNowCostsNothingMore) {
  Host host(1);
  (void)host.read(0, 0, 1);
  EXPECT_EQ(sum(host.read(0, 0, 1)), 0);
  EXPECT_EQ(sum(host.write(0, 0, 1)), 0);
}

TEST(HostCaches, AByteCostsByWhatWasTouchedSince) {
  const auto reads_again = [](std::size_t blocks) {
    Host host(blocks);
    (void)host.read(0, 0, blocks);
    return host.read(0, 0, blocks);
  };
  const double in_own = 7 * kBlock;  // with half a block for itself the distance is below half of the own cache
  EXPECT_EQ(reads_again(7)[HostCosts::kFirstLevel], in_own);
  EXPECT_EQ(reads_again(7)[HostCosts::kFirstLevel + 1], 0);
  EXPECT_EQ(reads_again(17)[HostCosts::kFirstLevel + 2], 17 * kBlock) << "all of the own cache";
  EXPECT_LT(reads_again(17)[HostCosts::kFirstLevel + 3], 17 * kBlock);
  EXPECT_EQ(reads_again(40)[HostCosts::kFirstLevel + 4], 40 * kBlock) << "twice the own cache, and more";
  EXPECT_EQ(reads_again(40)[HostCosts::kMemoryByte], 0);
  EXPECT_EQ(reads_again(600)[HostCosts::kFirstLevel + 7], 600 * kBlock) << "more than the shared cache";
  EXPECT_GT(reads_again(600)[HostCosts::kFirstLevel + 8], 0) << "which still holds some of it";
  EXPECT_LT(reads_again(600)[HostCosts::kFirstLevel + 8], 600 * kBlock);
  EXPECT_EQ(reads_again(2100)[HostCosts::kFirstLevel + 9], 2100 * kBlock) << "four times of it, and more";
}

TEST(HostCaches, OfTheSharedCacheAllCoresHaveTheirPart) {
  const auto reads_again_beside = [](std::size_t others) {
    Host host(50 + others);
    (void)host.read(0, 0, 50);
    (void)host.read(1, 50, others);
    return host.read(0, 0, 50);
  };
  EXPECT_EQ(reads_again_beside(0)[HostCosts::kMemoryByte], 0);
  EXPECT_EQ(reads_again_beside(0)[HostCosts::kFirstLevel + 4], 50 * kBlock);
  EXPECT_EQ(reads_again_beside(200)[HostCosts::kMemoryByte], 50 * kBlock) << "a quarter of it and more";
  EXPECT_EQ(reads_again_beside(200)[HostCosts::kFirstLevel + 4], 50 * kBlock) << "its own it lost alone";
  Host host(208);
  (void)host.read(0, 0, 8);
  (void)host.read(1, 8, 200);
  EXPECT_EQ(host.read(0, 0, 8)[HostCosts::kMemoryByte], 0) << "what its own cache holds, no other core takes away";
}

TEST(HostCaches, TranslationsAreLostByWhatACoreItselfTouched) {
  const auto translated = [](std::size_t own, std::size_t others) {
    Host host(own + others);
    (void)host.read(0, 0, own);
    (void)host.read(1, own, others);
    return host.read(0, 0, own)[HostCosts::kTranslatedByte];
  };
  EXPECT_EQ(translated(128, 0), 0) << "8 MiB";
  EXPECT_GT(translated(192, 0), 0);
  EXPECT_EQ(translated(300, 0), 300 * kBlock) << "more than 16 MiB";
  EXPECT_EQ(translated(128, 300), 0) << "another core has its own";
}

TEST(HostCaches, WhatAnotherCoreWroteIsFetchedOnce) {
  Host host(2);
  (void)host.write(1, 0, 1);
  const HostCosts first = host.read(0, 0, 1);
  EXPECT_EQ(first[HostCosts::kFetchedByte], kBlock);
  EXPECT_GT(first[HostCosts::kJustWrittenByte], 0);
  EXPECT_EQ(sum(host.read(0, 0, 1)), 0) << "both hold it now";
  (void)host.write(1, 0, 1);
  (void)host.write(1, 1, 1);
  const HostCosts second = host.read(0, 0, 1);
  EXPECT_EQ(second[HostCosts::kFetchedByte], kBlock) << "the writer's is the only one again";
  EXPECT_EQ(second[HostCosts::kJustWrittenByte], 0) << "it wrote more than its first cache holds";
}

TEST(HostCaches, WhatItsWriterLostComesFromWhereAllDataIs) {
  Host host(100);
  (void)host.write(1, 0, 100);
  const HostCosts costs = host.read(0, 0, 1);
  EXPECT_EQ(costs[HostCosts::kFetchedByte], 0);
  EXPECT_EQ(costs[HostCosts::kFirstLevel + 2], kBlock);
}

TEST(HostCaches, WhatAnotherCoreHasReadIsTakenBackBeforeItIsWritten) {
  Host host(2);
  (void)host.write(0, 0, 1);
  EXPECT_EQ(host.write(0, 0, 1)[HostCosts::kSharedWriteByte], 0) << "nobody has read it";
  (void)host.read(1, 0, 1);
  EXPECT_EQ(host.stream(0, 0, 1)[HostCosts::kSharedWriteByte], 0) << "memory is not asked";
  (void)host.write(0, 0, 1);
  (void)host.read(1, 0, 1);
  const HostCosts costs = host.write(0, 0, 1);
  EXPECT_EQ(costs[HostCosts::kSharedWriteByte], kBlock);
  EXPECT_EQ(costs[HostCosts::kSharedWriteOwnByte], kBlock);
  EXPECT_EQ(host.write(0, 0, 1)[HostCosts::kSharedWriteByte], 0) << "only once";
  (void)host.read(1, 0, 1);
  EXPECT_EQ(host.write(1, 0, 1)[HostCosts::kSharedWriteByte], 0) << "to its reader it was given";
}

TEST(HostCaches, WhatIsCopiedThereHasAPriceOfItsOwn) {
  const auto written_with = [](bool sums) {
    HostCaches caches(machine_for_tests(), 2, 2, kBlock);
    HostCosts costs;
    caches.pass(0, {{.block = 0, .writes = true}}, costs);
    caches.pass(1, {{.block = 0, .reads = true}}, costs);
    caches.pass(0, {{.block = 1, .reads = true}, {.block = 0, .reads = sums, .writes = true}}, costs);
    return costs;
  };
  EXPECT_EQ(written_with(false)[HostCosts::kSharedCopyByte], kBlock);
  EXPECT_EQ(written_with(false)[HostCosts::kSharedCopyOwnByte], kBlock);
  EXPECT_EQ(written_with(false)[HostCosts::kSharedWriteByte], 0);
  EXPECT_EQ(written_with(true)[HostCosts::kSharedCopyByte], 0);
  EXPECT_EQ(written_with(true)[HostCosts::kSharedWriteByte], kBlock);
}

TEST(HostCaches, ACopyThatIsLostNeedNotBeTakenBack) {
  const auto take_back_after = [](std::size_t others) {
    Host host(1 + others);
    (void)host.write(0, 0, 1);
    (void)host.read(1, 0, 1 + others);
    return host.write(0, 0, 1);
  };
  EXPECT_EQ(take_back_after(40)[HostCosts::kSharedWriteByte], kBlock);
  EXPECT_EQ(take_back_after(40)[HostCosts::kSharedWriteOwnByte], 0) << "twice the own cache";
  EXPECT_EQ(take_back_after(600)[HostCosts::kSharedWriteByte], 0) << "more than the shared cache";
}

TEST(HostCaches, WhatWasWrittenPastTheCachesComesFromMemory) {
  Host host(1);
  (void)host.read(0, 0, 1);
  const HostCosts written = host.stream(0, 0, 1);
  EXPECT_EQ(written[HostCosts::kStreamedByte], kBlock);
  EXPECT_EQ(sum(written), kBlock);
  EXPECT_EQ(host.read(0, 0, 1)[HostCosts::kFirstLevel + 7], kBlock);
}

TEST(HostCaches, WhoHasReadWhatWentPastTheCachesWaitsForItNoMore) {
  HostCaches caches(machine_for_tests(), 2, 1, kBlock);
  HostCosts costs;
  EXPECT_FALSE(caches.waits_for_memory(1, 0)) << "it is core 0's";
  caches.pass(0, {{.block = 0, .writes = true, .past_caches = true}}, costs);
  EXPECT_TRUE(caches.waits_for_memory(1, 0));
  EXPECT_TRUE(caches.waits_for_memory(0, 0)) << "who wrote it, too";
  caches.pass(1, {{.block = 0, .reads = true}}, costs);
  EXPECT_FALSE(caches.waits_for_memory(1, 0));
  EXPECT_TRUE(caches.waits_for_memory(0, 0));
}

}  // namespace lockstep
