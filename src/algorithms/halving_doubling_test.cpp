#include "algorithms/shape_for_tests.h"
#include "schedule/proof.h"

#include <gtest/gtest.h>

namespace lockstep {

/// What it shares with swing is in halving_test.cpp.
TEST(HalvingDoubling, OfAPowerOfTwoIsCanonical) {
  for (const int ranks : {2, 4, 8, 16, 32}) EXPECT_TRUE(prove(shape::build("halving_doubling", ranks)).canonical);
}

}  // namespace lockstep
