// What "auto" stands for; group_test.cpp runs schedules of every name.
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

/// The two are written down in layers that do not know each other.
TEST(Schedules, AutoIsNaiveAsFarAsLettersReach) {
  const Selection selection = built_in_selection(1);
  EXPECT_EQ(select(selection, Collective::kAllReduce, shm::Letterbox::kBytes - 1), "naive");
  EXPECT_EQ(select(selection, Collective::kAllReduce, shm::Letterbox::kBytes), "star");
}

}  // namespace lockstep
