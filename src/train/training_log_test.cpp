#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/training_log.h>
#include <torch/torch.h>

#include <chrono>
#include <thread>

#include "group/thread_world.h"
#include "train/test_errors.h"
#include "train/test_model.h"

namespace lockstep {
namespace {

using test::on_ranks;
using test::Vectors;
using ::testing::AllOf;
using ::testing::HasSubstr;

TrainingStatistics statistics(double iteration_ms, double exposed_ms, double least_exposed_ms) {
  TrainingStatistics s;
  s.world_size = 4;
  s.iterations = 10;
  s.iteration = {iteration_ms, iteration_ms};
  s.exposed = {exposed_ms, exposed_ms};
  s.least_exposed_ms = least_exposed_ms;
  s.forward = {0.4 * (iteration_ms - exposed_ms), 1};
  s.backward_compute = {0.6 * (iteration_ms - exposed_ms), 1};
  s.bound = bound_of(s);
  s.scaling_efficiency = scaling_efficiency_of(s);
  return s;
}

TEST(Verdict, IsNetworkWhereEveryRankWaitsForIt) {
  const auto s = statistics(100, 40, 30);
  EXPECT_EQ(s.bound, Bound::kNetwork);
  EXPECT_DOUBLE_EQ(s.scaling_efficiency, 0.6);
  EXPECT_THAT(describe(s), AllOf(HasSubstr("network-bound: 30 % of the iteration"), HasSubstr("60.0 %")));
}

TEST(Verdict, IsMemoryWhereTheBytesMoveThroughIt) {
  auto s = statistics(100, 40, 30);
  s.shares_memory = true;
  s.bound = bound_of(s);
  EXPECT_EQ(s.bound, Bound::kMemory);
  EXPECT_THAT(describe(s), HasSubstr("memory-bound: 30 % of the iteration"));
}

TEST(Verdict, IsMemoryWhereRanksSlowEachOther) {
  auto s = statistics(100, 10, 5);
  s.alone_ms = 60;  // forward and backward; together they take 90
  s.bound = bound_of(s);
  EXPECT_EQ(s.bound, Bound::kMemory);
  EXPECT_DOUBLE_EQ(scaling_efficiency_of(s), 0.6);
  EXPECT_THAT(describe(s), HasSubstr("1.50 times what it takes on one rank while the others wait"));
  s.alone_ms = 85;
  EXPECT_EQ(bound_of(s), Bound::kCompute);
  s.alone_ms = 60;
  s.world_size = 1;  // there is nobody to slow it
  EXPECT_EQ(bound_of(s), Bound::kCompute);
  EXPECT_DOUBLE_EQ(scaling_efficiency_of(s), 0.9);
}

TEST(Verdict, IsComputeWhereOneRankOnlyWaitsForAnother) {
  const auto s = statistics(100, 40, 2);
  EXPECT_EQ(s.bound, Bound::kCompute);
  EXPECT_THAT(describe(s), AllOf(HasSubstr("compute-bound: 2 %"), HasSubstr("waits for slower ones")));
  EXPECT_THAT(describe(statistics(100, 3, 2)), testing::Not(HasSubstr("waits for slower ones")));
}

void wait_ms(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// A model of one vector that is trained for a few iterations.
struct Training {
  std::int64_t count = 1000;
  std::function<void(World&)> forward = [](World&) {};
  std::string algorithm = "auto";
};

TrainingStatistics trained(World& world, const Training& what) {
  Vectors model({"a", "b"}, what.count);
  const DataParallel replica(world, model, {.first_bucket_bytes = 64, .algorithm = what.algorithm});
  TrainingLog log(world);
  for (int iteration = 0; iteration < 5; ++iteration) {
    if (iteration == 1) log.restart();
    log.begin_iteration();
    what.forward(world);
    model.loss({"b", "a"}, 1).backward();
    log.end_iteration(replica.report());
  }
  return log.statistics();
}

TEST(TrainingLog, ASlowForwardIsComputing) {
  on_ranks(2, [](World& world) {
    const auto s = trained(world, {.forward = [](World&) { wait_ms(100); }});
    EXPECT_EQ(s.bound, Bound::kCompute);
    EXPECT_GE(s.forward.mean_ms, 100);
    EXPECT_GE(s.forward.last_ms, 100);
    EXPECT_THAT(describe(s), HasSubstr("compute-bound"));
  });
}

/// 16 MiB that four ranks send each other whole, through memory, and next to nothing to compute.
TEST(TrainingLog, LargeGradientsOfNoWorkAreMemory) {
  on_ranks(4, [](World& world) {
    const auto s = trained(world, {.count = 2 << 20, .algorithm = "naive"});
    EXPECT_TRUE(s.shares_memory);
    EXPECT_EQ(s.bound, Bound::kMemory);
    EXPECT_EQ(s.wire_bytes, 3 * (std::size_t{16} << 20));
    EXPECT_THAT(describe(s), HasSubstr("memory-bound"));
  });
}

/// Rank 1 computes longer, so rank 0 waits for it: that is exposed there, and no network's fault.
TEST(TrainingLog, WaitingForASlowerRankIsNoNetwork) {
  const auto body = [](World& world) {
    const auto s = trained(world, {.forward = [](World& w) { wait_ms(w.rank() == 1 ? 150 : 1); }});
    EXPECT_EQ(s.bound, Bound::kCompute);
    if (world.rank() == 0) {
      EXPECT_GE(s.exposed.mean_ms, 100);
      EXPECT_LE(s.scaling_efficiency, 0.5);
      EXPECT_THAT(describe(s), HasSubstr("waits for slower ones"));
    }
  };
  on_ranks(2, body);
  detail::run_threads_over_tcp(2, body);
}

TEST(TrainingLog, TimesAddUpToTheIteration) {
  on_ranks(3, [](World& world) {
    const auto s = trained(world, {.forward = [](World&) { wait_ms(5); }});
    EXPECT_EQ(s.iterations, 4);
    EXPECT_EQ(s.world_size, 3);
    for (const auto part : {&IterationTime::mean_ms, &IterationTime::last_ms}) {
      EXPECT_NEAR(s.forward.*part + s.backward_compute.*part + s.exposed.*part + s.rest.*part, s.iteration.*part,
                  0.05 * s.iteration.*part);
      EXPECT_LE(s.hidden.*part, s.communication.*part);
    }
    EXPECT_LE(s.least_exposed_ms, s.exposed.mean_ms);
    EXPECT_GT(s.communication.mean_ms, 0);
  });
}

/// The loss takes "b" first and "a" last, whose gradient then comes first.
TEST(TrainingLog, KnowsFirstAndRebuiltOrder) {
  on_ranks(2, [](World& world) {
    const auto s = trained(world, {});
    EXPECT_THAT(s.first_buckets, testing::ElementsAre(testing::ElementsAre("b"), testing::ElementsAre("a")));
    EXPECT_THAT(s.latest_buckets, testing::ElementsAre(testing::ElementsAre("a"), testing::ElementsAre("b")));
    EXPECT_THAT(s.bucket_bytes, testing::ElementsAre(4032, 4032));
    EXPECT_EQ(s.algorithm, world.algorithm_for(Collective::kAllReduce, 4032));
    EXPECT_THAT(describe(s), HasSubstr("laid out anew"));
  });
}

TEST(TrainingLog, NamesParametersThatNoBackwardReachedAndSaysWhatToDo) {
  on_ranks(2, [](World& world) {
    Vectors model({"a", "idle", "of_one_rank"});
    const DataParallel replica(world, model);
    TrainingLog log(world);
    const auto described_after = [&](const std::vector<std::string>& reached) {
      log.begin_iteration();
      model.loss(reached, 1).backward();
      log.end_iteration(replica.report());
      return describe(log.statistics());
    };
    EXPECT_THAT(described_after(world.rank() == 0 ? std::vector<std::string>{"a"}
                                                  : std::vector<std::string>{"a", "of_one_rank"}),
                HasSubstr(" No rank's backward reached 1 parameter: idle. Freeze what is not to be trained, by "
                          "set_requires_grad(false) before the model is wrapped"));
    EXPECT_THAT(described_after({"a", "idle", "of_one_rank"}), testing::Not(HasSubstr("reached")));
  });
  auto many = statistics(100, 3, 2);
  many.unreached = {"a", "b", "c", "d", "e"};
  EXPECT_THAT(describe(many), HasSubstr("reached 5 parameters: a, b, c and 2 more."));
}

TEST(TrainingLog, RefusesWhatWasNotBegun) {
  TrainingLog log(World::alone());
  EXPECT_THAT(test::error_of([&] { log.statistics(); }), HasSubstr("before the first iteration"));
  EXPECT_THAT(test::error_of([&] { log.end_iteration({}); }), HasSubstr("call begin_iteration()"));
}

TEST(TrainingLog, AloneIsOneRankAtATime) {
  on_ranks(3, [](World& world) {
    static std::atomic<int> computing{0};
    const double alone = measured_alone_ms(
        world,
        [&] {
          EXPECT_EQ(++computing, 1);
          wait_ms(world.rank() == 2 ? 20 : 2);
          --computing;
        },
        3);
    EXPECT_GE(alone, 20);
    std::vector<double> same{alone};
    world.all_reduce(buffer_of(same), ReduceOp::kMin).wait();
    EXPECT_EQ(same[0], alone);
  });
}

}  // namespace
}  // namespace lockstep
