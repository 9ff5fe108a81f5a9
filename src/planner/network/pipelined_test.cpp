#include "planner/network/pipelined.h"

#include "planner/pricing/price.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr FlatCost kLink{20e-6, 8e-9};

Schedule all_reduce(const char* algorithm, int ranks) {
  return schedule_for(algorithm, {.collective = Collective::kAllReduce, .ranks = ranks});
}

TEST(Pipelined, TheRootOfATreeTakesInAndSendsAtTheSameTime) {
  const double n = 10 << 20;
  const Wiring wiring(flat_network(4, kLink));
  const Schedule tree = all_reduce("tree", 4);
  // Two whole messages go in and two come out.
  EXPECT_NEAR(pipelined_seconds(tree, n, wiring) / (2 * n * kLink.beta_s), 1.05, 0.05);
  EXPECT_GT(simulate(tree, n, wiring).seconds / pipelined_seconds(tree, n, wiring), 1.8);
}

TEST(Pipelined, WhereNoCardIsEverIdleThereIsNothingToGain) {
  const Wiring wiring(flat_network(4, kLink));
  const Schedule ring = all_reduce("ring", 4);
  for (const double n : {256.0, 1e6, 1e8}) {
    EXPECT_NEAR(pipelined_seconds(ring, n, wiring) / simulate(ring, n, wiring).seconds, 1, 0.01) << n;
  }
}

TEST(Pipelined, ShortMessagesAreNotCut) {
  const Wiring wiring(flat_network(8, kLink));
  const Schedule tree = all_reduce("tree", 8);
  EXPECT_EQ(pipelined_seconds(tree, 64, wiring), simulate(tree, 64, wiring).seconds);
}

}  // namespace
}  // namespace lockstep
