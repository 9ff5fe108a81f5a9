#include "schedule/ranges.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {

TEST(Ranges, EachBoundIsInRangeAndOneMoreIsNot) {
  for (const int more : {0, 1}) {
    const bool is_refused = more == 1;
    EXPECT_EQ(check_ranks({.ranks = kMostRanks + more}).has_value(), is_refused);
    EXPECT_EQ(check_chunks({.ranks = 1, .chunks = kMostChunks + more}).has_value(), is_refused);
    const int shared_chunks = kMostRanksTimesChunks / kMostRanks;
    EXPECT_EQ(check_chunks({.ranks = kMostRanks, .chunks = shared_chunks + more}).has_value(), is_refused);
    const auto of_steps = [&](int ranks, int steps) {
      return check_step_count({.ranks = ranks, .steps = std::vector<Step>(static_cast<std::size_t>(steps + more))});
    };
    EXPECT_EQ(of_steps(1, kMostSteps).has_value(), is_refused);
    EXPECT_EQ(of_steps(kMostRanks, kMostRanksTimesSteps / kMostRanks).has_value(), is_refused);
  }
}

}  // namespace lockstep
