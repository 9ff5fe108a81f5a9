#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/metrics.h>
#include <lockstep/world.h>

#include <cmath>
#include <limits>

#include "train/test_parity.h"

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

// --- beside a training ---

/// What a batch's mean is said to count for, on one of several ranks.
using Counted = std::function<std::int64_t(const Group& group, const Batch& batch)>;

/// The metrics of three epochs, whose last batch has 3 samples, so that a fourth rank has none of it.
test::Training reporting(const Counted& counted) {
  return [counted](const test::Side& side) {
    const auto net = test::make_net(side.seed);
    const auto replica = side.replicate(*net);
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    const auto loader = make_loader(test::spots(), side.group, test::spots_options());
    Metrics metrics(side.group, {"loss", "accuracy"});
    std::vector<double> all;
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (auto& batch : loader->epoch()) {
        optimizer.zero_grad();
        const auto scores = net->forward(batch.data);
        const auto loss = torch::nn::functional::cross_entropy(scores, batch.target);
        loss.backward();
        optimizer.step();
        const auto count = replica ? counted(side.group, batch) : batch.samples;
        metrics.add("loss", loss.item<double>(), count);
        metrics.add("accuracy", scores.argmax(1).eq(batch.target).to(torch::kFloat64).mean().item<double>(), count);
      }
      for (const auto& [name, mean] : metrics.reduce()) all.push_back(mean);
    }
    return torch::tensor(all, torch::kFloat64);
  };
}

TEST(Metrics, OfATrainingAreThoseOfOneProcessOnAnyNumberOfRanks) {
  const auto right = reporting([](const Group&, const Batch& batch) { return batch.samples; });
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const auto result = test::parity_of(right, ranks);
    EXPECT_LE(result.difference, test::kParityTolerance) << ranks << " ranks";
    EXPECT_TRUE(result.bits_equal) << ranks << " ranks";
  }
}

TEST(Metrics, ParityFailsWhenBatchesCountAlikeOrARankIsLeftOut) {
  const auto alike = reporting([](const Group&, const Batch&) { return std::int64_t{1}; });
  const auto left_out = reporting([](const Group& group, const Batch& batch) {
    return group.rank() == group.size() - 1 ? std::int64_t{0} : batch.samples;
  });
  EXPECT_GT(test::parity_of(alike, 3).difference, 100 * test::kParityTolerance);
  EXPECT_GT(test::parity_of(left_out, 3).difference, 100 * test::kParityTolerance);
}

}  // namespace
}  // namespace lockstep
