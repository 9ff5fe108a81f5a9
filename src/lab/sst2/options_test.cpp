#include "lab/sst2/options.h"

#include "lab/settings_file.h"
#include "lab/sst2/task.h"
#include "lab/sst2/test_sst2.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::AllOf;
using testing::HasSubstr;

class Sst2OptionsTest : public Sst2Test {
 protected:
  static std::string refused(const std::vector<std::string>& arguments) {
    return refusal_of([&] { parse_sst2(arguments); });
  }
};

TEST_F(Sst2OptionsTest, LeftOpenAreAsSuitsThePreset) {
  EXPECT_EQ(parse_sst2({"--data=x"}).settings.preset, "full");
  EXPECT_EQ(parse_sst2({"--data=x", "--preset=small"}).settings.recipe.batch, 64);
  EXPECT_EQ(parse_sst2({"--data=x", "--preset=small", "--batch=8"}).settings.recipe.batch, 8);
  EXPECT_EQ(parse_sst2({"--data=x", "--weights=y"}).settings.preset, "");
  EXPECT_EQ(parse_sst2({"--data=x", "--bucket-bytes=64KiB"}).common.sharding.bucket_bytes, std::size_t{64} << 10);
}

TEST_F(Sst2OptionsTest, LeftOpenAreThoseOfTheRunThatGoesOn) {
  Sst2Settings settings{.data = "x", .preset = "small", .max_tokens = 50};
  settings.recipe.batch = 24;
  write_settings({.out = folder_.string()}, settings);
  const Sst2Options options = parse_sst2({"--resume", folder_.string(), "--epochs=9"});
  EXPECT_EQ(options.settings.data, "x");
  EXPECT_EQ(options.settings.max_tokens, 50);
  EXPECT_EQ(options.common.recipe.batch, 24);
  EXPECT_EQ(options.common.recipe.epochs, 9);
  EXPECT_EQ(options.common.output.out, folder_.string());
  EXPECT_THAT(refused({"--resume", folder_.string(), "--preset=huge"}), HasSubstr("There is no --preset huge"));
  EXPECT_THAT(refused({"--resume", folder_.string(), "--weights=y"}),
              HasSubstr("or --weights if --preset small is that of the run to --resume"));
  write_settings({.out = folder_.string()}, {{"other", 1}});
  EXPECT_THAT(refused({"--resume", folder_.string()}), HasSubstr("was no training of sst2"));
}

TEST_F(Sst2OptionsTest, ThatCannotBeAreRefusedByName) {
  EXPECT_THAT(refused({}), HasSubstr("--data is needed"));
  EXPECT_THAT(refused({"--data=x", "--preset=huge"}),
              HasSubstr("There is no --preset huge; there are full, small, tiny"));
  EXPECT_THAT(refused({"--data=x", "--preset", ""}), HasSubstr("there are full, small, tiny"));
  EXPECT_THAT(refused({"--data=x", "--preset=tiny", "--weights=y"}), HasSubstr("leave out --preset tiny"));
  EXPECT_THAT(refused({"--data=x", "--max-tokens=2"}), HasSubstr("--max-tokens must be at least 3"));
  EXPECT_THAT(refused({"--data=x", "--stage=4"}), HasSubstr("--stage must be 0, 1, 2 or 3, not 4"));
  EXPECT_THAT(refused({"--data=x", "--eval-every=-1"}), HasSubstr("--eval-every"));
  EXPECT_THAT(refused({"--data=x", "--checkpoint-every=-1"}), HasSubstr("--checkpoint-every"));
  EXPECT_THAT(refused({"--data=x", "--every=-1"}), HasSubstr("--every"));
  EXPECT_THAT(refused({"--data=x", "--batch=0"}), HasSubstr("--batch"));
}

TEST_F(Sst2OptionsTest, TheVocabularyIsLookedFor) {
  Sst2Settings settings{.data = (folder_ / "data").string()};
  EXPECT_EQ(find_vocabulary(settings), folder_ / "data" / "vocab.txt");
  settings.weights = (folder_ / "weights").string();
  write("weights/tokenizer.json", "{}");
  EXPECT_EQ(find_vocabulary(settings), folder_ / "weights" / "tokenizer.json");
  settings.vocabulary = "elsewhere.txt";
  EXPECT_EQ(find_vocabulary(settings), "elsewhere.txt");
  std::filesystem::create_directory(folder_ / "bert-base-uncased");
  write("bert-base-uncased/vocab.txt", "");
  std::filesystem::remove(folder_ / "data" / "vocab.txt");
  EXPECT_EQ(find_vocabulary({.data = (folder_ / "data").string()}), folder_ / "bert-base-uncased" / "vocab.txt");
  const std::string data = (folder_ / "nowhere" / "data").string(), weights = (folder_ / "empty").string();
  EXPECT_THAT(refusal_of([&] { find_vocabulary({.data = data, .weights = weights}); }),
              AllOf(HasSubstr("--vocabulary is needed"),
                    HasSubstr(weights + " or " + data + " or " + (folder_ / "nowhere/bert-base-uncased").string())));
}

TEST_F(Sst2OptionsTest, TheHelpShowsTheDefaultsThatHold) {
  Sst2Options defaults;
  CLI::App app;
  add_sst2_flags(app, defaults);
  const auto description = [&](const char* flag) { return app.get_option(flag)->get_description(); };
  EXPECT_THAT(description("--learning-rate"),
              HasSubstr("[5e-05 with --weights; of the presets full 0.0001, small 0.001, tiny 0.003]"));
  EXPECT_THAT(description("--batch"), HasSubstr("[32 with --weights; of the presets full 32, small 64, tiny 64]"));
  EXPECT_THAT(description("--epochs"), HasSubstr("[3 with --weights; of the presets full 3, small 3, tiny 1]"));
  EXPECT_EQ(app.get_option("--learning-rate")->get_default_str(), "") << "no single one";
  EXPECT_EQ(app.get_option("--out")->get_default_str(), "runs/sst2");
  EXPECT_DOUBLE_EQ(parse_sst2({"--data=x", "--weights=y"}).common.recipe.learning_rate, 5e-5);
  EXPECT_DOUBLE_EQ(parse_sst2({"--data=x"}).common.recipe.learning_rate, 1e-4);
  EXPECT_EQ(parse_sst2({"--data=x"}).common.output.out, "runs/sst2");
}

}  // namespace lockstep::lab
