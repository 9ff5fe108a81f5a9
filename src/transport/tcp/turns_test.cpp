#include "transport/tcp/turns.h"

#include "topology/cpu_quota.h"

#include <gtest/gtest.h>

namespace lockstep::tcp {

TEST(Turns, AreTakenByMoreRanksThanCores) {
  const int cores = job_cpus();
  EXPECT_FALSE(take_turns(cores));
  EXPECT_TRUE(take_turns(cores + 1));
}

}  // namespace lockstep::tcp
