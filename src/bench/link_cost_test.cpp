#include "bench/link_cost.h"

#include <gtest/gtest.h>

namespace lockstep::bench {

TEST(LinkCost, OfBothMediaIsSomethingThatAMessageMayCost) {
  for (const Medium medium : {Medium::kSharedMemory, Medium::kTcp}) {
    const FlatCost cost = measure_link(medium);
    EXPECT_GT(cost.alpha_s, 1e-9) << to_string(medium);
    EXPECT_GT(cost.beta_s, 0) << to_string(medium);
    EXPECT_GT(cost.gamma_s, 0) << to_string(medium);
    EXPECT_GT(cost.alpha_s, cost.beta_s) << "a message takes longer than one more byte of it";
  }
}

}  // namespace lockstep::bench
