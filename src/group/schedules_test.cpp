// What "auto" stands for; group_test.cpp runs schedules of every name.
#include "group/schedules.h"
#include "algorithms/catalog.h"
#include "planner/selection.h"
#include "transport/shm/letterbox.h"

#include <gtest/gtest.h>
#include <lockstep/comm.h>

#include <cstdlib>

namespace lockstep {

TEST(Schedules, AutoFollowsTheSelectionInForce) {
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: 0-4KiB tree, 4KiB- ring", 1), 0);
  run_threads(2, [](World& world) {
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 4095), "tree");
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 4096), "ring");
    EXPECT_EQ(world.algorithm_for(Collective::kAllReduce, 4096, {.algorithm = "direct"}), "direct");
  });
  ASSERT_EQ(::setenv("LOCKSTEP_ALGORITHMS", "all_reduce: rign", 1), 0);
  EXPECT_THROW(run_threads(2, [](World&) {}), Error);
  ASSERT_EQ(::unsetenv("LOCKSTEP_ALGORITHMS"), 0);
}

TEST(Schedules, AreAskedForWithTheHosts) {
  const std::vector<int> hosts{0, 1, 0, 1};
  detail::Schedules schedules(4, Medium::kMessages, hosts);
  for (const char* name : {"ring", "hierarchical:direct,ring"}) {
    const Schedule expected = find_algorithm(name).build({.ranks = 4, .hosts = hosts});
    EXPECT_EQ(schedules.get(name, Collective::kAllReduce, 0).steps, expected.steps);
    EXPECT_NE(expected.steps, find_algorithm(name).build({.ranks = 4}).steps);
  }
  EXPECT_EQ(schedules.resolve("auto", Collective::kAllReduce, 4), "hierarchical:recursive_doubling,recursive_doubling");
}

TEST(Schedules, WhatCannotBeBuiltIsRefusedEveryTime) {
  std::vector<int> hosts;  // of so many sizes that no chunks fit
  for (const int size : {11, 13, 16, 17, 19, 23}) hosts.insert(hosts.end(), static_cast<std::size_t>(size), size);
  detail::Schedules schedules(static_cast<int>(hosts.size()), Medium::kMessages, hosts);
  for (int time = 0; time < 2; ++time) {
    EXPECT_THROW(schedules.get("hierarchical:ring,tree", Collective::kAllReduce, 0), Error) << time;
    EXPECT_THROW(schedules.get("pairwise", Collective::kAllReduce, 0), Error) << time;
  }
  EXPECT_EQ(schedules.resolve("auto", Collective::kAllReduce, 4), "recursive_doubling");
}

/// The two are written down in layers that do not know each other.
TEST(Schedules, AutoIsNaiveAsFarAsLettersReach) {
  const Selection selection = built_in_selection(1);
  EXPECT_EQ(select(selection, Collective::kAllReduce, shm::Letterbox::kBytes - 1), "naive");
  EXPECT_EQ(select(selection, Collective::kAllReduce, shm::Letterbox::kBytes), "star");
}

}  // namespace lockstep
