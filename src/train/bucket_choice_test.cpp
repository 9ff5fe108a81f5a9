#include "train/bucket_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/prediction.h>
#include <lockstep/sharded.h>
#include <torch/torch.h>

#include <mutex>

#include "train/test_errors.h"
#include "train/test_model.h"
#include "train/test_parity.h"

namespace lockstep {
namespace {

using test::on_ranks;
using test::Vectors;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SyncReport taking(double backward_ms) {
  SyncReport report;
  report.backward_ms = backward_ms;
  return report;
}

/// What is picked after a first backward that does not count and three that do; rank 1's take longer.
std::size_t picked(World& world, const Link& link) {
  predict_by(world, link);
  BucketChoice choice(world, {{.bytes = 64u << 20}});
  EXPECT_EQ(choice.bucket_bytes(), BucketChoice::kStartBytes);
  EXPECT_FALSE(choice.note(taking(9000)));
  EXPECT_FALSE(choice.note(taking(1000 + 100 * world.rank())));
  EXPECT_FALSE(choice.note(taking(5000)));
  EXPECT_THAT(choice.reason(), IsEmpty());
  EXPECT_TRUE(choice.note(taking(1000 + 100 * world.rank())));
  EXPECT_FALSE(choice.note(taking(1)));  // once
  EXPECT_THAT(choice.reason(), Not(IsEmpty()));
  return choice.bucket_bytes();
}

TEST(BucketChoice, IsTheSameOnRanksThatMeasureDifferentThings) {
  for (const int ranks : {2, 3, 4}) {
    on_ranks(ranks, [ranks](World& world) {
      // What other ranks know of the link does not count.
      const Link link{.alpha_s = world.rank() == 0 ? 1e-4 : 1e-3, .beta_s = 1e-9, .source = "by hand"};
      BucketCosts costs = bucket_costs({.alpha_s = 1e-4, .beta_s = 1e-9, .source = ""}, ranks);
      costs.bytes = 64u << 20;
      costs.backward_s = 1 + 0.1 * (ranks - 1) / 2;
      EXPECT_EQ(picked(world, link), best_bucket_bytes(costs));
    });
  }
}

TEST(BucketChoice, FollowsAlphaAndBeta) {
  on_ranks(2, [](World& world) {
    const auto base = static_cast<double>(picked(world, {.alpha_s = 1e-4, .beta_s = 1e-9, .source = ""}));
    EXPECT_NEAR(static_cast<double>(picked(world, {.alpha_s = 4e-4, .beta_s = 1e-9, .source = ""})) / base, 2, 0.01);
    EXPECT_NEAR(static_cast<double>(picked(world, {.alpha_s = 1e-4, .beta_s = 4e-9, .source = ""})) / base, 0.5, 0.01);
  });
}

TEST(BucketChoice, MeasuresALinkThatNobodyKnows) {
  on_ranks(2, [](World& world) {
    ::setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    BucketChoice choice(world, {{.bytes = 64u << 20}});
    for (int i = 0; i < 4; ++i) choice.note(taking(1000));
    EXPECT_THAT(choice.reason(), HasSubstr("measured"));
    std::vector<std::int64_t> sizes{static_cast<std::int64_t>(choice.bucket_bytes())};
    world.all_reduce(buffer_of(sizes), ReduceOp::kMax).wait();
    EXPECT_EQ(sizes[0], static_cast<std::int64_t>(choice.bucket_bytes()));
  });
  ::unsetenv("XDG_CACHE_HOME");
}

TEST(BucketChoice, AloneThereIsNothingToPick) {
  BucketChoice choice(World::alone(), {{.bytes = 64u << 20}});
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(choice.note(taking(1000)));
  EXPECT_EQ(choice.bucket_bytes(), BucketChoice::kStartBytes);
}

/// 1 MiB of gradients on a link on which 256 KiB are best, or so: buckets are laid out anew, and say so.
TEST(AutoBuckets, AreLaidOutAnewOnce) {
  on_ranks(3, [](World& world) {
    predict_by(world, {.alpha_s = 1e-9, .beta_s = 1e-6, .source = "by hand"});
    Vectors model({"a", "b", "c", "d"}, 65536);
    const DataParallel replica(world, model, {.first_bucket_bytes = 1 << 30, .bucket_bytes = kAuto});
    std::vector<std::size_t> buckets;
    for (int iteration = 0; iteration < 6; ++iteration) {
      model.loss({"a", "b", "c", "d"}, world.rank()).backward();
      EXPECT_THAT(model.gradient("a"), testing::Optional((world.size() - 1) / 2.0 * (iteration + 1)));
      buckets.push_back(replica.report().buckets.size());
      EXPECT_EQ(replica.report().bucket_choice.empty(), iteration < 3);
    }
    EXPECT_THAT(buckets, testing::ElementsAre(1, 1, 1, 1, 4, 4));
    EXPECT_THAT(replica.report().bucket_choice, HasSubstr("1 MiB of gradients"));
  });
}

TEST(AutoBuckets, AreNotForHooksNorForShards) {
  on_ranks(2, [](World& world) {
    Vectors model({"a"}, 100);
    const auto hook = [](const GradientBucket&) { return Pending(); };
    EXPECT_THAT([&] { DataParallel(world, model, {.bucket_bytes = kAuto, .communication_hook = hook}); },
                testing::ThrowsMessage<Error>(HasSubstr("give bucket_bytes a number")));
    EXPECT_THAT([&] { Sharded(world, {.stage = 2, .bucket_bytes = kAuto}); },
                testing::ThrowsMessage<Error>(HasSubstr("give bucket_bytes a number")));
  });
}

}  // namespace
}  // namespace lockstep
