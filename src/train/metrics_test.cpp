#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/metrics.h>
#include <lockstep/world.h>

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

TEST(Metrics, MeanIsOverTheSamplesOfAllRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    run_threads(ranks, [ranks](World& world) {
      Metrics metrics(world, {"loss", "accuracy"});
      // Sample i has loss i; rank r holds r + 1 samples in one batch, and rank 0 one more in a second.
      const int first = world.rank() * (world.rank() + 1) / 2;
      metrics.add("loss", first + world.rank() / 2.0, world.rank() + 1);
      const int all = ranks * (ranks + 1) / 2;
      if (world.rank() == 0) metrics.add("loss", all, 1);
      metrics.add("accuracy", world.rank() == 0 ? 1 : std::numeric_limits<double>::quiet_NaN(), world.rank() == 0);
      EXPECT_THAT(metrics.reduce(), ElementsAre(Pair("loss", all / 2.0), Pair("accuracy", 1.0))) << ranks;
    });
  }
}

TEST(Metrics, StartsAnewAndHasNoMeanOfNothing) {
  run_threads(2, [](World& world) {
    Metrics metrics(world, {"loss"});
    metrics.add("loss", 3, 1);
    EXPECT_EQ(metrics.reduce()[0].second, 3);
    EXPECT_TRUE(std::isnan(metrics.reduce()[0].second));
    metrics.add("loss", world.rank(), 2);
    EXPECT_EQ(metrics.reduce()[0].second, 0.5);
  });
}

TEST(Metrics, RefusesWhatItWasNotMadeFor) {
  Metrics metrics(World::alone(), {"loss", "accuracy"});
  EXPECT_THAT([&] { metrics.add("lose", 1, 1); }, ThrowsMessage<Error>(HasSubstr("these metrics are loss, accuracy")));
  EXPECT_THAT([&] { metrics.add("loss", 1, -1); }, ThrowsMessage<Error>(HasSubstr("cannot be negative")));
}

}  // namespace
}  // namespace lockstep
