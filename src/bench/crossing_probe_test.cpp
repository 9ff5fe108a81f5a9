#include "bench/crossing_probe.h"

#include <gtest/gtest.h>

#include <thread>

namespace lockstep::bench {

/// Again and again, since what a round saw is where the next begins.
TEST(CrossingProbe, TellsTheFirstHowLongALineTakes) {
  CrossingProbe probe;
  double of_other = -1;
  for (int again = 0; again < 3; ++again) {
    std::thread other([&] { of_other = probe.measure(false); });
    const double of_first = probe.measure(true);
    other.join();
    EXPECT_GT(of_first, 1e-9) << "light comes 30 cm far";
    EXPECT_LT(of_first, 0.1);
    EXPECT_EQ(of_other, 0);
  }
}

}  // namespace lockstep::bench
