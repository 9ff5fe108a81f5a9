#include "train/bucket_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lockstep {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

BucketCosts costs(double backward_s, double alpha_s, double beta_s) {
  return {.bytes = 100 * kMiB, .backward_s = backward_s, .alpha_s = alpha_s, .beta_s = beta_s};
}

/// When the reductions of equal buckets, one after the other, are over after the last gradient, and what they cost the
/// thread before: counted bucket by bucket.
double simulated(const BucketCosts& c, int buckets) {
  const double size = static_cast<double>(c.bytes) / buckets;
  const double time = c.alpha_s + size * c.beta_s;
  double free_at = 0;
  for (int i = 1; i <= buckets; ++i) free_at = std::max(free_at, c.backward_s * i / buckets) + time;
  return free_at - c.backward_s;
}

TEST(BucketSize, FollowsTheRootOfAlphaOverBeta) {
  const double best = static_cast<double>(best_bucket_bytes(costs(1, 1e-4, 1e-9)));
  EXPECT_NEAR(best, std::sqrt(100 * kMiB * 1e-4 / 1e-9), 64);
  EXPECT_NEAR(static_cast<double>(best_bucket_bytes(costs(1, 4e-4, 1e-9))) / best, 2, 0.001);
  EXPECT_NEAR(static_cast<double>(best_bucket_bytes(costs(1, 1e-4, 4e-9))) / best, 0.5, 0.001);
  EXPECT_EQ(best_bucket_bytes(costs(2, 1e-4, 1e-9)), best_bucket_bytes(costs(1, 1e-4, 1e-9)));
}

/// A link that does not keep up: the first bucket should leave early, whatever beta is.
TEST(BucketSize, FollowsBackwardWhereTheLinkDoesNotKeepUp) {
  const auto slow = [](double backward_s, double beta_s) {
    return static_cast<double>(best_bucket_bytes(costs(backward_s, 1e-4, beta_s)));
  };
  EXPECT_EQ(slow(0.1, 1e-7), slow(0.1, 4e-7));
  EXPECT_NEAR(slow(0.4, 1e-7) / slow(0.1, 1e-7), 0.5, 0.001);
  EXPECT_NEAR(slow(0.1, 1e-7), 100 * kMiB * std::sqrt(1e-4 / 0.1), 64);
}

TEST(BucketSize, StaysBetweenALeastAndAll) {
  EXPECT_EQ(best_bucket_bytes(costs(1, 0, 1e-9)), 64u << 10);
  EXPECT_EQ(best_bucket_bytes(costs(1, 10, 1e-9)), 100 * kMiB);
  EXPECT_EQ(best_bucket_bytes(costs(1, 1e-4, 0)), 100 * kMiB);
  EXPECT_EQ(best_bucket_bytes({.bytes = 128, .backward_s = 1, .alpha_s = 1e-9, .beta_s = 1}), 128u);
}

TEST(BucketSize, NoOtherSizeAddsLess) {
  for (const double backward : {0.01, 0.1, 1.0}) {
    for (const double alpha : {1e-5, 1e-4, 1e-3}) {
      for (const double beta : {1e-10, 1e-9, 1e-8}) {
        const BucketCosts c = costs(backward, alpha, beta);
        const double least = added_s(c, static_cast<double>(best_bucket_bytes(c)));
        for (double bytes = 64 << 10; bytes <= 100. * kMiB; bytes *= 1.1) {
          EXPECT_GE(added_s(c, bytes), least * 0.9999) << backward << " " << alpha << " " << beta << " " << bytes;
        }
      }
    }
  }
}

/// The formula is an upper estimate of the pipeline: alphas that the link hides are counted, for they take the thread.
TEST(BucketSize, WhatIsAddedIsThePipelinesAndItsAlphas) {
  for (const double beta : {1e-10, 1e-9, 1e-8}) {
    const BucketCosts c = costs(0.2, 1e-4, beta);
    for (const int buckets : {1, 3, 10, 50}) {
      const double formula = added_s(c, static_cast<double>(c.bytes) / buckets);
      EXPECT_GE(formula, simulated(c, buckets) * 0.9999);
      EXPECT_LE(formula, simulated(c, buckets) + buckets * c.alpha_s);
    }
  }
}

TEST(BucketSize, SaysWhy) {
  EXPECT_THAT(
      why_bucket_bytes(costs(1, 1e-4, 1e-9), "by hand"),
      testing::AllOf(testing::HasSubstr("by hand"), testing::HasSubstr("keeps up"), testing::HasSubstr("3.09 MiB")));
  EXPECT_THAT(why_bucket_bytes(costs(0.01, 1e-4, 1e-8), "by hand"), testing::HasSubstr("does not keep up"));
}

TEST(BucketSize, ARingsAllReduceIsItsMessages) {
  const BucketCosts c = bucket_costs({.alpha_s = 10e-6, .beta_s = 1e-9, .source = ""}, 4);
  EXPECT_DOUBLE_EQ(c.alpha_s, 6 * 10e-6);
  EXPECT_DOUBLE_EQ(c.beta_s, 1.5e-9);
}

}  // namespace
}  // namespace lockstep
