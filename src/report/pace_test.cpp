#include "report/pace.h"

#include <gtest/gtest.h>

namespace lockstep {

using std::chrono::milliseconds;

TEST(Pace, KnowsNothingAfterOneIteration) {
  Pace pace;
  EXPECT_LT(pace.seconds_until(10), 0);
  pace.reached(1, {});
  EXPECT_EQ(pace.per_second(), 0);
  EXPECT_LT(pace.seconds_until(10), 0);
}

TEST(Pace, CountsFromTheFirstIterationSeen) {
  Pace pace;
  Pace::Time now;
  for (int iteration = 1001; iteration <= 1005; ++iteration) pace.reached(iteration, now += milliseconds(500));
  EXPECT_NEAR(pace.per_second(), 2, 1e-9);
  EXPECT_NEAR(pace.seconds_until(1025), 10, 1e-6);
}

TEST(Pace, CountsIterationsThatItIsNotToldOf) {
  Pace pace;
  Pace::Time now;
  for (int iteration = 10; iteration <= 50; iteration += 10) pace.reached(iteration, now += milliseconds(500));
  EXPECT_NEAR(pace.per_second(), 20, 1e-9);
}

TEST(Pace, OneSlowIterationMovesItLittleAndALastingChangeALot) {
  Pace pace;
  Pace::Time now;
  int iteration = 0;
  const auto run = [&](int count, milliseconds each) {
    while (count-- > 0) pace.reached(++iteration, now += each);
  };
  run(600, milliseconds(100));
  run(1, milliseconds(1000));
  EXPECT_GT(pace.per_second(), 9);
  run(200, milliseconds(200));
  EXPECT_NEAR(pace.per_second(), 5, 0.5);
}

}  // namespace lockstep
