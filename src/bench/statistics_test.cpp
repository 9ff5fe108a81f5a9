#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

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

TEST(Statistics, NanStandsForNone) {
  EXPECT_EQ(without_nan({1, std::nan(""), 2}), (std::vector<double>{1, 2}));
  EXPECT_TRUE(without_nan({std::nan("")}).empty());
}

/// The median deviation of the last is 1; of a normal distribution it is 0.6745 of a standard one, and the error of a
/// median 1.2533 of a mean's.
TEST(Statistics, MediansHaveTheErrorOfTheirDeviations) {
  EXPECT_EQ(error_of_median({}), 0.1);
  EXPECT_EQ(error_of_median({1, 2}), 0.1);
  EXPECT_EQ(error_of_median({1, 1, 1}), 0.005);
  EXPECT_NEAR(error_of_median({2, 3, 4, 5}), 1.2533 * 1.4826 / 2, 1e-9);
}

}  // namespace lockstep::bench
