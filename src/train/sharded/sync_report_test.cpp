// What a report says of each gather and reduce-scatter.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/prediction.h>
#include <lockstep/sharded.h>
#include <torch/torch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "group/thread_world.h"
#include "planner/network/count.h"
#include "planner/pricing/price.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using test::on_ranks;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

/// Two wrapped layers, and one that is not.
struct Net : torch::nn::Module {
  explicit Net(Sharded& shard) {
    for (int i = 0; i < 2; ++i) layers->push_back(shard.wrap(torch::nn::Linear(32, 32)));
    register_module("layers", layers);
    register_module("output", output);
  }
  torch::Tensor loss() { return output(torch::tanh(layers->forward(torch::ones({4, 32})))).sum(); }
  torch::nn::Sequential layers;
  torch::nn::Linear output{32, 8};
};

/// "all_gather layers.0 forward", in the order of the report.
std::vector<std::string> names(const SyncReport& report) {
  std::vector<std::string> result;
  for (const BucketTiming& timing : report.buckets) {
    result.push_back(
        fmt::format("{} {} {}", timing.operation, timing.block.empty() ? "-" : timing.block, timing.phase));
  }
  return result;
}

void expect_what_the_schedule_does(const World& world, const SyncReport& report) {
  for (const BucketTiming& timing : report.buckets) {
    const auto collective = timing.operation == "all_gather"       ? Collective::kAllGather
                            : timing.operation == "reduce_scatter" ? Collective::kReduceScatter
                                                                   : Collective::kAllReduce;
    const auto schedule = schedule_for(timing.algorithm, {.collective = collective, .ranks = world.size()});
    const Counts planned = count(schedule, static_cast<double>(timing.bytes));
    EXPECT_EQ(static_cast<std::uint64_t>(timing.steps), planned.steps);
    EXPECT_NEAR(static_cast<double>(timing.wire_bytes),
                planned.by_rank[static_cast<std::size_t>(world.rank())].sent_bytes, 64. * world.size());
    EXPECT_EQ(timing.predicted_ms, predicted_ms(world, collective, timing.bytes));
    EXPECT_TRUE(timing.predicted_ms.has_value());
    EXPECT_LE(timing.launched_us, timing.begun_us);
    EXPECT_LE(timing.begun_us, timing.completed_us);
    EXPECT_FALSE(timing.parameters.empty());
  }
}

void train(World& world, int stage,
           const std::function<void(const SyncReport& before, const SyncReport& after)>& check) {
  predict_by(world, {.alpha_s = 1e-5, .beta_s = 1e-9, .source = ""});
  Sharded shard(world, {.stage = stage});
  Net net(shard);
  shard.attach(net);
  torch::optim::SGD optimizer(net.parameters(), 0.01);
  for (int iteration = 0; iteration < 3; ++iteration) {
    {
      const torch::NoGradGuard evaluation;  // of no iteration
      net.loss();
    }
    optimizer.zero_grad();
    net.loss().backward();
    const SyncReport before = shard.report();
    shard.step(optimizer);
    check(before, shard.report());
    expect_what_the_schedule_does(world, shard.report());
  }
}

const std::vector<std::string> kStageThree{"all_gather layers.0 forward",      "all_gather layers.1 forward",
                                           "all_gather layers.1 backward",     "all_gather layers.0 backward",
                                           "reduce_scatter layers.1 backward", "reduce_scatter layers.0 backward",
                                           "reduce_scatter - backward"};

TEST(ShardedReport, NamesTheBlockOfEachGatherAndReduceScatter) {
  for (const int ranks : {2, 3, 4}) {
    const auto body = [](World& world) {
      train(world, 3, [](const SyncReport& before, const SyncReport& after) {
        EXPECT_THAT(names(before), ::testing::UnorderedElementsAreArray(kStageThree));
        EXPECT_EQ(names(before)[0], kStageThree[0]);
        auto with_step = kStageThree;
        with_step.emplace_back("all_gather - step");
        EXPECT_THAT(names(after), testing::UnorderedElementsAreArray(with_step));
        EXPECT_EQ(names(after).back(), with_step.back());
        EXPECT_TRUE(std::is_sorted(after.buckets.begin(), after.buckets.end(),
                                   [](const auto& a, const auto& b) { return a.launched_us < b.launched_us; }));
        EXPECT_GE(after.exposed_ms, before.exposed_ms);
        EXPECT_EQ(after.bytes, before.bytes);
      });
    };
    on_ranks(ranks, body);
    detail::run_threads_over_tcp(ranks, body);
  }
}

TEST(ShardedReport, LowerStagesGatherInStep) {
  on_ranks(3, [](World& world) {
    train(world, 2, [](const SyncReport& before, const SyncReport& after) {
      EXPECT_THAT(names(before), ElementsAre("reduce_scatter - backward"));
      EXPECT_THAT(names(after), ElementsAre("reduce_scatter - backward", "all_gather - step"));
    });
    train(world, 1, [](const SyncReport& before, const SyncReport& after) {
      EXPECT_THAT(names(before), ElementsAre("all_reduce - backward"));
      EXPECT_THAT(names(after), ElementsAre("all_reduce - backward", "all_gather - step"));
    });
    train(world, 0, [](const SyncReport& before, const SyncReport& after) {
      EXPECT_THAT(names(before), ElementsAre("all_reduce - backward"));
      EXPECT_THAT(names(after), ElementsAre("all_reduce - backward"));
    });
  });
}

TEST(ShardedReport, AGatherThatNothingWaitedForIsHidden) {
  on_ranks(2, [](World& world) {
    Sharded shard(world, {.stage = 3, .prefetch = false});
    Net net(shard);
    shard.attach(net);
    net.loss().backward();
    double waited_ms = 0;
    for (const BucketTiming& timing : shard.report().buckets) {
      if (timing.operation != "all_gather") continue;
      // Begun where it is needed: unless it was complete at once it was waited for.
      if (!timing.hidden) waited_ms += static_cast<double>(timing.completed_us - timing.launched_us) / 1000;
    }
    EXPECT_GE(shard.report().exposed_ms + 0.1, waited_ms);
  });
}

TEST(ShardedReport, FrozenParametersOfABlockAreGatheredToo) {
  on_ranks(2, [](World& world) {
    Sharded shard(world, {.stage = 3});
    torch::nn::Linear inner(32, 32);
    inner->bias.set_requires_grad(false);
    struct Root : torch::nn::Module {};
    Root root;
    auto block = root.register_module("block", shard.wrap(inner));
    shard.attach(root);
    block->forward(torch::ones({4, 32})).sum().backward();
    std::vector<int> indices;
    for (const BucketTiming& timing : shard.report().buckets) {
      EXPECT_EQ(timing.block, "block");
      if (timing.operation == "all_gather" && timing.phase == "forward") indices.push_back(timing.index);
    }
    EXPECT_THAT(indices, UnorderedElementsAre(0, -1));
  });
}

}  // namespace
}  // namespace lockstep
