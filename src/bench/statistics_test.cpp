#include "bench/statistics.h"

#include <gtest/gtest.h>

namespace lockstep::bench {

TEST(Statistics, MedianIsTheMiddle) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 9}), 3);
}

TEST(Statistics, PercentileIsTheNearestRank) {
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  EXPECT_EQ(percentile(hundred, 0.99), 99);
  EXPECT_EQ(percentile(hundred, 1), 100);
  EXPECT_EQ(percentile(hundred, 0), 1);
  EXPECT_EQ(percentile({1, 2, 3}, 0.99), 3);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

}  // namespace lockstep::bench
