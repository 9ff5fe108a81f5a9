#include "lab/digits/options.h"

#include "lab/digits/test_digits.h"
#include "lab/settings_file.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::HasSubstr;

class DigitsOptionsTest : public DigitsTest {
 protected:
  static std::string refused(const std::vector<std::string>& arguments) {
    return refusal_of([&] { parse_digits(arguments); });
  }
};

TEST_F(DigitsOptionsTest, TheLearningRateFollowsTheBatchAsAskedFor) {
  const std::vector<std::string> large = {"--data=x", "--batch=256", "--base-batch=64", "--learning-rate=0.1"};
  const auto rate = [&](const std::string& scaling) {
    auto arguments = large;
    arguments.push_back("--scaling=" + scaling);
    return parse_digits(arguments).common.recipe.learning_rate;
  };
  EXPECT_DOUBLE_EQ(rate("none"), 0.1);
  EXPECT_DOUBLE_EQ(rate("linear"), 0.4);
  EXPECT_DOUBLE_EQ(rate("square-root"), 0.2);
}

TEST_F(DigitsOptionsTest, LeftOpenAreThoseOfTheRunThatGoesOn) {
  DigitsSettings settings;
  settings.data = "x";
  settings.partition = "by-label";
  settings.norm = "group";
  settings.norm_linear = true;
  settings.scaling = "linear";
  settings.recipe.batch = 128;
  write_settings({.out = folder_.string()}, settings);
  const DigitsOptions options = parse_digits({"--resume", folder_.string()});
  EXPECT_EQ(options.settings.partition, "by-label");
  EXPECT_EQ(options.settings.norm, "group");
  EXPECT_TRUE(options.settings.norm_linear);
  EXPECT_EQ(options.common.recipe.batch, 128);
  EXPECT_DOUBLE_EQ(options.common.recipe.learning_rate, 2 * settings.recipe.learning_rate) << "scaled once";
  EXPECT_EQ(options.common.output.out, folder_.string());
  write_settings({.out = folder_.string()}, {{"other", 1}});
  EXPECT_THAT(refused({"--resume", folder_.string()}), HasSubstr("was no training of digits"));
}

TEST_F(DigitsOptionsTest, TheHelpShowsTheDefaultsThatHold) {
  DigitsOptions defaults;
  CLI::App app;
  add_digits_flags(app, defaults);
  const auto shown = [&](const char* flag) { return app.get_option(flag)->get_default_str(); };
  const DigitsOptions options = parse_digits({"--data=x"});
  const Recipe& recipe = options.common.recipe;
  EXPECT_EQ(shown("--batch"), "64");
  EXPECT_EQ(recipe.batch, 64);
  EXPECT_EQ(shown("--epochs"), "4");
  EXPECT_EQ(recipe.epochs, 4);
  EXPECT_EQ(shown("--learning-rate"), "0.05");
  EXPECT_EQ(recipe.learning_rate, 0.05);
  EXPECT_EQ(shown("--weight-decay"), "0.0005");
  EXPECT_EQ(recipe.weight_decay, 0.0005);
  EXPECT_EQ(shown("--clip"), "0");
  EXPECT_EQ(recipe.clip, 0);
  EXPECT_EQ(shown("--partition"), "shuffled");
  EXPECT_EQ(options.settings.partition, "shuffled");
  EXPECT_FALSE(options.settings.norm_linear);
  EXPECT_EQ(shown("--out"), "runs/digits");
  EXPECT_EQ(options.common.output.out, "runs/digits");
}

TEST_F(DigitsOptionsTest, ThatCannotBeAreRefusedByName) {
  EXPECT_THAT(refused({}), HasSubstr("--data is needed"));
  EXPECT_THAT(refused({"--data=x", "--norm=bach"}), HasSubstr("group, not bach. Did you mean 'batch'?"));
  EXPECT_EQ(refused({"--data=x", "--norm=instances"}), "--norm is one of batch, sync, group, not instances.");
  EXPECT_THAT(refused({"--data=x", "--partition=by-labels"}),
              HasSubstr("--partition is one of shuffled, by-label, not by-labels. Did you mean 'by-label'?"));
  EXPECT_THAT(refused({"--data=x", "--scaling=cubic"}), HasSubstr("--scaling is one of none, linear, square-root"));
  EXPECT_THAT(refused({"--data=x", "--base-batch=0"}), HasSubstr("--base-batch must be at least 1"));
}

}  // namespace lockstep::lab
