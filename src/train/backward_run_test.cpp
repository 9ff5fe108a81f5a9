#include "train/backward_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/world.h>
#include <torch/torch.h>

#include <chrono>
#include <thread>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Three buckets: parameters 0 and 1, parameter 2, parameter 3. Records which buckets leave.
struct Scene {
  explicit Scene(bool overlap = true, const Arrivals& expected = {1, 1, 1, 1}) {
    options.overlap = overlap;
    options.communication_hook = [this](const GradientBucket& bucket) {
      left.push_back(bucket.index);
      return Pending(std::make_shared<Flag>(*this));
    };
    std::vector<ModuleTensor> parameters;
    for (int i = 0; i < 4; ++i) parameters.push_back({fmt::format("p{}", i), torch::zeros({2}), true, ""});
    const std::vector<BucketLayout> layouts{
        {.bytes = 128, .slots = {{0, 0}, {1, 64}}}, {.bytes = 64, .slots = {{2, 0}}}, {.bytes = 64, .slots = {{3, 0}}}};
    run = std::make_unique<BackwardRun>(world, options, std::make_shared<BucketSet>(world, layouts, parameters),
                                        expected);
  }
  void gradient(std::size_t parameter) {
    run->note(parameter);
    run->advance(parameter);
  }
  void complete() {
    std::vector<std::uint8_t> used(4);
    run->complete(buffer_of(used));
  }
  /// A message that arrives when the scene says so, or when somebody waits for it.
  struct Flag : Operation {
    explicit Flag(Scene& s) : scene(s) {}
    bool advance() override { return scene.arrived; }
    void wait() override { ++scene.waits; }
    Scene& scene;
  };

  World world = World::alone();
  DataParallelOptions options;
  std::vector<int> left;
  bool arrived = false;
  int waits = 0;
  std::unique_ptr<BackwardRun> run;
};

TEST(BackwardRun, BucketLeavesWhenItIsFullAndThoseBeforeItHaveLeft) {
  Scene scene;
  scene.gradient(2);
  scene.gradient(0);
  EXPECT_THAT(scene.left, IsEmpty());
  scene.gradient(1);
  EXPECT_THAT(scene.left, ElementsAre(0, 1));
  EXPECT_TRUE(scene.run->has(0));
  EXPECT_FALSE(scene.run->has(3));
  scene.gradient(3);
  EXPECT_THAT(scene.left, ElementsAre(0, 1, 2));
  EXPECT_THAT(scene.run->order(), ElementsAre(2, 0, 1, 3));
  EXPECT_EQ(scene.waits, 0);
  scene.complete();
  EXPECT_EQ(scene.waits, 3);
}

TEST(BackwardRun, RestLeavesAtTheEnd) {
  Scene scene;
  scene.gradient(3);
  scene.complete();
  EXPECT_THAT(scene.left, ElementsAre(0, 1, 2));
}

TEST(BackwardRun, WithoutOverlapAllLeaveAtTheEnd) {
  Scene scene(false);
  for (std::size_t parameter : {0, 1, 2, 3}) scene.gradient(parameter);
  EXPECT_THAT(scene.left, IsEmpty());
  scene.complete();
  EXPECT_THAT(scene.left, ElementsAre(0, 1, 2));
}

TEST(BackwardRun, BucketWaitsForAsManyGradientsAsAreExpected) {
  Scene scene(true, {2, 0, 0, 1});
  scene.gradient(0);
  scene.gradient(3);
  EXPECT_THAT(scene.left, IsEmpty());
  scene.gradient(0);
  EXPECT_THAT(scene.left, ElementsAre(0, 1, 2)) << "nobody waits for parameters 1 and 2";
  EXPECT_THAT(scene.run->order(), ElementsAre(3, 0));
  EXPECT_THAT(scene.run->came(), ElementsAre(2, 0, 0, 1));
}

TEST(BackwardRun, NothingLeavesWhileNobodyKnowsWhatComes) {
  Scene scene(true, Arrivals(4, kAnyNumber));
  for (std::size_t parameter : {0, 1, 2, 3, 3}) scene.gradient(parameter);
  EXPECT_THAT(scene.left, IsEmpty());
  scene.complete();
  EXPECT_THAT(scene.left, ElementsAre(0, 1, 2));
  EXPECT_THAT(scene.run->came(), ElementsAre(1, 1, 1, 2));
}

TEST(BackwardRun, ReportsWhichBucketsBackwardHid) {
  Scene scene;
  scene.arrived = true;
  scene.gradient(0);
  scene.gradient(1);  // bucket 0 leaves, and is there at once
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  scene.gradient(2);
  scene.arrived = false;
  scene.gradient(3);
  scene.complete();
  const auto report = scene.run->report();
  ASSERT_EQ(report.buckets.size(), 3u);
  EXPECT_TRUE(report.buckets[0].hidden);
  EXPECT_FALSE(report.buckets[2].hidden);
  EXPECT_EQ(report.bytes, 256u);
  EXPECT_GE(report.backward_ms, 2);
}

TEST(BackwardRun, WaitsForWhatIsUnderWayWhenItGoes) {
  Scene scene;
  scene.gradient(0);
  scene.gradient(1);
  scene.run.reset();  // as when backward throws
  EXPECT_EQ(scene.waits, 1);
}

}  // namespace
}  // namespace lockstep
