#include "lab/classifier/recipe.h"

#include "lab/refusal_for_tests.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::HasSubstr;

TEST(Recipe, CountsUpdatesByEpochsUnlessTold) {
  EXPECT_EQ((Recipe{.batch = 32, .epochs = 3}).updates(100), 10);  // 300 / 32, and what is left
  EXPECT_EQ((Recipe{.batch = 32, .epochs = 0.5}).updates(64), 1);
  EXPECT_EQ((Recipe{.batch = 32, .epochs = 3, .iterations = 7}).updates(100), 7);
  EXPECT_EQ((Recipe{.batch = 1000, .epochs = 0.001}).updates(100), 1) << "at least one";
}

TEST(Recipe, WarmsUpAndDecaysToZero) {
  const LearningRate schedule = Recipe{.learning_rate = 0.5, .warmup = 0.1}.schedule(100);
  EXPECT_LT(schedule.at(1), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(11), 0.5);
  EXPECT_NEAR(schedule.at(56), 0.25, 1e-12);
  EXPECT_LT(schedule.at(100), 0.01);
}

TEST(Recipe, WhatCannotBeIsRefusedByName) {
  const auto refusal = [](const Recipe& recipe) { return refusal_of([&] { validate(recipe); }); };
  EXPECT_THAT(refusal({.batch = 0}), HasSubstr("--batch must be at least 1, not 0"));
  EXPECT_THAT(refusal({.batch = 32, .accumulate = 5}), HasSubstr("--accumulate 5 does not divide --batch 32"));
  EXPECT_THAT(refusal({.accumulate = 0}), HasSubstr("--accumulate"));
  EXPECT_THAT(refusal({.epochs = 0}), HasSubstr("--epochs must be above 0"));
  EXPECT_THAT(refusal({.iterations = -1}), HasSubstr("--iterations"));
  EXPECT_THAT(refusal({.learning_rate = std::nan("")}), HasSubstr("--learning-rate"));
  EXPECT_THAT(refusal({.warmup = 1}), HasSubstr("--warmup must be at least 0 and below 1"));
  EXPECT_THAT(refusal({.weight_decay = -1}), HasSubstr("--weight-decay"));
  EXPECT_THAT(refusal({.clip = -1}), HasSubstr("--clip"));
  EXPECT_THAT(refusal({.patience = -1}), HasSubstr("--patience"));
  EXPECT_THAT(refusal({.patience = 3}), HasSubstr("--patience counts evaluations"));
  EXPECT_THAT(refusal({.eval_every = -1}), HasSubstr("--eval-every"));
  EXPECT_THAT(refusal({.checkpoint_every = -1}), HasSubstr("--checkpoint-every"));
  EXPECT_THAT(refusal({.stage = 4}), HasSubstr("--stage must be 0, 1, 2 or 3, not 4"));
}

}  // namespace lockstep::lab
