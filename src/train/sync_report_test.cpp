// What a report says of each bucket's reduction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/prediction.h>

#include <functional>
#include <string>
#include <tuple>

#include "group/thread_world.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using test::Vectors;

class SyncReportOn : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  static void run(const std::function<void(World&)>& f) {
    const auto [ranks, over_tcp] = GetParam();
    over_tcp ? detail::run_threads_over_tcp(ranks, f) : test::on_ranks(ranks, f);
  }
};
INSTANTIATE_TEST_SUITE_P(RanksAndTransports, SyncReportOn, testing::Combine(testing::Values(2, 3, 4), testing::Bool()),
                         [](const auto& of) {
                           return std::to_string(std::get<0>(of.param)) +
                                  (std::get<1>(of.param) ? "OverTcp" : "InMemory");
                         });

constexpr std::int64_t kCount = 3 << 10;  // of 2, 3 and 4 ranks, in whole cache lines
constexpr Link kLink{.alpha_s = 1e-3, .beta_s = 1e-6, .source = ""};

TEST_P(SyncReportOn, EachBucketIsWhatTheAlgorithmDoes) {
  run([](World& world) {
    predict_by(world, kLink);
    Vectors model({"a", "b", "c"}, kCount);
    const std::size_t bytes = kCount * sizeof(float);
    const DataParallel replica(world, model,
                               {.first_bucket_bytes = bytes, .bucket_bytes = 2 * bytes, .algorithm = "ring"});
    for (int iteration = 0; iteration < 2; ++iteration) {
      model.loss({"a", "b", "c"}, 1).backward();
      const auto& buckets = replica.report().buckets;
      ASSERT_EQ(buckets.size(), 2u);
      EXPECT_LE(buckets[0].completed_us, buckets[1].begun_us);
      for (const BucketTiming& bucket : buckets) {
        EXPECT_EQ(bucket.operation, "all_reduce");
        EXPECT_EQ(bucket.phase, "backward");
        EXPECT_EQ(bucket.block, "");
        EXPECT_EQ(bucket.algorithm, "ring");
        EXPECT_EQ(bucket.steps, 2 * (world.size() - 1));
        EXPECT_EQ(bucket.wire_bytes * world.size(), 2 * (world.size() - 1) * bucket.bytes);
        const double p = world.size();
        const auto bytes_of_bucket = static_cast<double>(bucket.bytes);
        const double expected = 2 * (p - 1) * kLink.alpha_s + 2 * (p - 1) / p * bytes_of_bucket * kLink.beta_s;
        EXPECT_NEAR(bucket.predicted_ms.value_or(0), 1000 * expected, 10 * expected);
        EXPECT_LE(bucket.launched_us, bucket.begun_us);
        EXPECT_LE(bucket.begun_us, bucket.completed_us);
      }
    }
  });
}

TEST_P(SyncReportOn, AutoIsResolved) {
  run([](World& world) {
    Vectors model({"a"}, kCount);
    const DataParallel replica(world, model);
    model.loss({"a"}, 1).backward();
    const BucketTiming& bucket = replica.report().buckets.at(0);
    EXPECT_EQ(bucket.algorithm, world.algorithm_for(Collective::kAllReduce, bucket.bytes));
    EXPECT_NE(bucket.algorithm, "auto");
    EXPECT_EQ(bucket.predicted_ms, predicted_ms(world, Collective::kAllReduce, bucket.bytes));
  });
}

/// Reduces the first half of a bucket, and when that is complete the second: in wait(), which ranks call in one order;
/// advance() is called at moments of each rank's own.
class Halves : public Operation {
 public:
  Halves(const Group& group, const torch::Tensor& flat) : group_(group), flat_(flat), pending_(start(0)) {}
  bool advance() override { return complete_; }
  void wait() override {
    if (complete_) return;
    pending_.wait();
    start(flat_.numel() / 2).wait();
    complete_ = true;
  }

 private:
  Pending start(std::int64_t begin) {
    return group_.all_reduce(buffer_of(flat_.data_ptr<float>() + begin, flat_.numel() / 2), ReduceOp::kMean,
                             {.algorithm = "ring"});
  }
  Group group_;
  torch::Tensor flat_;
  Pending pending_;
  bool complete_ = false;
};

TEST_P(SyncReportOn, WhatAHookSendsIsItsBuckets) {
  run([](World& world) {
    Vectors model({"a", "b", "c"}, kCount);
    const std::size_t bytes = kCount * sizeof(float);
    const DataParallel replica(world, model,
                               {.first_bucket_bytes = bytes,
                                .bucket_bytes = 2 * bytes,
                                .communication_hook = [&](const GradientBucket& bucket) {
                                  return Pending(std::make_shared<Halves>(world, bucket.flat));
                                }});
    model.loss({"a", "b", "c"}, 1).backward();
    ASSERT_EQ(replica.report().buckets.size(), 2u);
    for (const BucketTiming& bucket : replica.report().buckets) {
      EXPECT_EQ(bucket.operation, "all_reduce");
      EXPECT_EQ(bucket.algorithm, "communication_hook");
      EXPECT_EQ(bucket.steps, 4 * (world.size() - 1));
      EXPECT_EQ(bucket.wire_bytes * world.size(), 2 * (world.size() - 1) * bucket.bytes);
      EXPECT_EQ(bucket.predicted_ms, std::nullopt);
      EXPECT_LE(bucket.begun_us, bucket.completed_us);
    }
  });
}

TEST(SyncReport, AloneNothingIsSent) {
  const World alone = World::alone();
  Vectors model({"a"}, kCount);
  const DataParallel replica(alone, model);
  model.loss({"a"}, 1).backward();
  const BucketTiming& bucket = replica.report().buckets.at(0);
  EXPECT_EQ(bucket.operation, "all_reduce");
  EXPECT_EQ(bucket.steps, 0);
  EXPECT_EQ(bucket.wire_bytes, 0u);
  EXPECT_EQ(bucket.predicted_ms, std::nullopt);
  EXPECT_LE(bucket.launched_us, bucket.completed_us);
}

}  // namespace
}  // namespace lockstep
