#include "lab/text/options.h"

#include "lab/refusal_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::lab {

using testing::HasSubstr;

namespace {

TextOptions parse(const std::vector<std::string>& arguments, TextOptions options = {}) {
  CLI::App app;
  add_text_flags(app, options);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  return options;
}

std::string refusal(const std::vector<std::string>& arguments) {
  return refusal_of([&] { validate(parse(arguments)); });
}

}  // namespace

TEST(TextOptions, DefaultsAreValid) { EXPECT_NO_THROW(validate(parse({}))); }

TEST(TextOptions, FlagsReachTheirSettings) {
  const TextOptions options = parse({"--data", "a", "b", "--data", "c", "--layers", "2", "--batch=16", "--no-overlap",
                                     "--log-sync", "--learning-rate", "5e-4", "--tokens", "bytes"});
  EXPECT_THAT(options.settings.data, testing::ElementsAre("a", "b", "c"));
  EXPECT_EQ(options.settings.model.layers, 2);
  EXPECT_EQ(options.settings.batch, 16);
  EXPECT_FALSE(options.overlap);
  EXPECT_TRUE(options.output.log_sync);
  EXPECT_EQ(options.settings.learning_rate, 5e-4);
  EXPECT_EQ(options.settings.tokens, "bytes");
}

TEST(TextOptions, BucketsHaveASizeAndTheFirstIsNoLarger) {
  EXPECT_EQ(parse({}).bucket_bytes, std::size_t{8} << 20);
  EXPECT_EQ(parse({"--bucket-bytes", "4MiB"}).bucket_bytes, std::size_t{4} << 20);
  EXPECT_EQ(parse({"--bucket-bytes", "4MiB"}).first_bucket_bytes, std::size_t{1} << 20);
  EXPECT_EQ(parse({"--bucket-bytes", "64KiB"}).first_bucket_bytes, std::size_t{64} << 10);
  EXPECT_THROW(parse({"--bucket-bytes", "0"}), CLI::ValidationError);
  EXPECT_THROW(parse({"--bucket-bytes", "much"}), CLI::ValidationError);
}

TEST(TextOptions, TheLastOfAFlagCounts) { EXPECT_EQ(parse({"--batch", "4", "--batch", "6"}).settings.batch, 6); }

TEST(TextOptions, WhatNoFlagSaysStays) {
  TextOptions saved;
  saved.settings.model.width = 64;
  saved.settings.batch = 3;
  saved.settings.data = {"saved.txt"};
  const TextOptions options = parse({"--batch", "4"}, saved);
  EXPECT_EQ(options.settings.model.width, 64);
  EXPECT_EQ(options.settings.batch, 4);
  EXPECT_THAT(options.settings.data, testing::ElementsAre("saved.txt"));
  EXPECT_THAT(parse({"--data", "new.txt"}, saved).settings.data, testing::ElementsAre("new.txt"));
}

TEST(TextOptions, TheScheduleFollowsTheIterations) {
  TextSettings settings;
  EXPECT_EQ(settings.schedule().end, 2000);
  EXPECT_EQ(settings.schedule().warmup, 100);
  EXPECT_DOUBLE_EQ(settings.schedule().minimum, settings.learning_rate / 10);
  settings.iterations = 20;
  EXPECT_EQ(settings.schedule().warmup, 2);
  settings.decay_iterations = 50;
  EXPECT_EQ(settings.schedule().end, 50);
  settings.warmup = 70;
  EXPECT_EQ(settings.schedule().end, 70) << "a warm-up that is longer than the decay leaves nothing to decay";
}

TEST(TextOptions, WhatCannotBeIsRefusedByName) {
  EXPECT_THAT(refusal({"--heads", "3"}), HasSubstr("--heads 3 does not divide --width 128"));
  EXPECT_THAT(refusal({"--heads", "3"}), HasSubstr("try --width 129"));
  EXPECT_THAT(refusal({"--iterations", "0"}), HasSubstr("--iterations must be at least 1"));
  EXPECT_THAT(refusal({"--tokens", "byte"}), HasSubstr("Did you mean 'bytes'?"));
  EXPECT_THAT(refusal({"--learning-rate", "0"}), HasSubstr("--learning-rate must be above 0"));
  EXPECT_THAT(refusal({"--learning-rate", "nan"}), HasSubstr("--learning-rate"));
  EXPECT_THAT(refusal({"--min-learning-rate", "1"}), HasSubstr("--min-learning-rate"));
  EXPECT_THAT(refusal({"--dropout", "1"}), HasSubstr("--dropout must be at least 0 and below 1"));
  EXPECT_THAT(refusal({"--temperature=-1"}), HasSubstr("--temperature"));
  for (const std::string flag : {"--layers", "--heads", "--width", "--context", "--batch"}) {
    EXPECT_THAT(refusal({flag, "0"}), HasSubstr(flag + " must be at least 1, not 0"));
    EXPECT_THAT(refusal({flag, "2000000"}), HasSubstr(flag + " must be at most 1000000"));
  }
  for (const std::string flag :
       {"--warmup=-2", "--decay-iterations=-1", "--weight-decay=-1", "--clip=-1", "--every=-1", "--checkpoint-every=-1",
        "--eval-every=-1", "--eval-iterations=-1", "--sample-length=-1"}) {
    EXPECT_THAT(refusal({flag}), HasSubstr(flag.substr(0, flag.find('=')) + " must be"));
  }
}

}  // namespace lockstep::lab
