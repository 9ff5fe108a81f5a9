#include "lab/text/evaluation.h"

#include "lab/text/data.h"

#include <gtest/gtest.h>
#include <lockstep/world.h>
#include <torch/utils.h>

#include <array>

namespace lockstep::lab {

namespace {

constexpr GptSize kWithDropout{.vocabulary = 7, .layers = 1, .heads = 2, .width = 16, .context = 4, .dropout = 0.5};

std::vector<std::int32_t> some_tokens() {
  std::vector<std::int32_t> tokens;
  for (int i = 0; i < 200; ++i) tokens.push_back(i * i % 7);
  return tokens;
}

}  // namespace

TEST(Evaluation, IsTheMeanOverAllWindowsForAnyNumberOfRanks) {
  const auto tokens = some_tokens();
  const auto starts = even_starts(0, 200, 4);  // 49 windows: more than are taken at once, and not divisible
  ASSERT_EQ(starts.size(), 49U);
  Gpt model(kWithDropout, 1);
  model->eval();
  const TextBatch all = windows_at(tokens, starts, 4);
  const double expected = model->loss(all.tokens, all.targets).item<double>();
  for (const int ranks : {1, 2, 3}) {
    std::array<double, 3> losses{};
    run_threads(ranks, [&](World& world) {
      Gpt replica(kWithDropout, 1);
      losses.at(static_cast<std::size_t>(world.rank())) = mean_loss(world, replica, tokens, starts);
      EXPECT_TRUE(replica->is_training());
    });
    EXPECT_NEAR(losses[0], expected, 1e-6);
    for (int rank = 1; rank < ranks; ++rank) EXPECT_EQ(losses.at(static_cast<std::size_t>(rank)), losses[0]);
  }
}

TEST(Evaluation, NeedsNoWindowForEveryRank) {
  const auto tokens = some_tokens();
  run_threads(3, [&](World& world) {
    Gpt model(kWithDropout, 1);
    EXPECT_GT(mean_loss(world, model, tokens, {8}), 0);
  });
}

}  // namespace lockstep::lab
