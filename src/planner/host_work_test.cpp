#include "planner/host_work.h"

#include "algorithms/catalog.h"
#include "schedule/promise.h"

#include <gtest/gtest.h>

namespace lockstep {

namespace {

HostWork work(const char* algorithm, int ranks, int cores, Collective collective = Collective::kAllReduce) {
  return work_of(find_algorithm(algorithm).build({.collective = collective, .ranks = ranks}), cores);
}

}  // namespace

TEST(HostWork, AFusedExchangeAccessesEachChunkOnceOnEveryRank) {
  const HostWork direct = work("direct", 4, 4);
  EXPECT_EQ(direct.moves, 1);
  EXPECT_EQ(direct.chunks_accessed, 8) << "four are read, the sum goes to four";
  EXPECT_EQ(direct.chunks_held, 4) << "what is read is written";
  EXPECT_EQ(direct.chunks_fetched, 0) << "a chunk is always the same rank's work, so it stays in that core's cache";
  EXPECT_FALSE(direct.is_staged);
}

TEST(HostWork, WhatAnotherCoreWroteIsFetched) {
  EXPECT_EQ(work("ring", 4, 4, Collective::kAllGather).chunks_fetched, 2)
      << "of three: nobody has written the first one since the operation before";
  EXPECT_EQ(work("ring", 4, 1, Collective::kAllGather).chunks_fetched, 0) << "there is no other core";
  const HostWork naive = work("naive", 2, 2);
  EXPECT_TRUE(naive.is_staged);
  EXPECT_EQ(naive.chunks_accessed, 5) << "a copy into staging, then two are read and one is written";
  EXPECT_EQ(naive.chunks_fetched, 1);
}

TEST(HostWork, CoresWithMoreRanksHaveMoreToDo) {
  EXPECT_EQ(work("direct", 4, 2).moves, 2);
  EXPECT_EQ(work("direct", 4, 1).moves, 4);
  EXPECT_EQ(work("star", 4, 1).moves, 1) << "the centre's, wherever it runs";
}

TEST(HostWork, TurnsAreCountedUntilAllHaveGoneOn) {
  // Nobody waits but for the contributions, and staging has two slots: a rank leaves its part of the next one too.
  EXPECT_EQ(work("naive", 2, 2).turns, 0.5);
  EXPECT_EQ(work("naive", 4, 1).turns, 3);
  EXPECT_EQ(work("star", 2, 2).turns, 1);
  EXPECT_EQ(work("star", 4, 1).turns, 4) << "one each";
  EXPECT_EQ(work("direct", 2, 2).turns, 1.5);
  EXPECT_EQ(work("direct", 4, 1).turns, 9);
  EXPECT_GT(work("bidirectional_ring", 8, 2).turns, work("direct", 8, 2).turns);
}

TEST(HostWork, EveryScheduleOfTheCatalogueHasItsWork) {
  for (const Collective collective : kCollectives) {
    for (const std::string_view name : algorithms_for(collective)) {
      for (int ranks = 1; ranks <= 9; ++ranks) {
        const Schedule schedule = find_algorithm(name).build({.collective = collective, .ranks = ranks});
        for (const int cores : {1, 2, 3, 16}) {
          const HostWork found = work_of(schedule, cores);
          EXPECT_GE(found.chunks_accessed, found.chunks_held) << name << ", " << ranks << " ranks";
          EXPECT_GE(found.chunks_held, found.chunks_fetched) << name << ", " << ranks << " ranks";
          EXPECT_GT(found.turns, 0) << name << ", " << ranks << " ranks, " << cores << " cores";
        }
      }
    }
  }
}

}  // namespace lockstep
