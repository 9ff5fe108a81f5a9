// `lockstep train digits` as a person uses it: real processes, and files that are wrong.
#include "lab/digits/test_digits.h"
#include "tests/processes/command.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Result;
using testing_support::run_command;

namespace fs = std::filesystem;

class DigitsCommand : public lab::DigitsTest {
 protected:
  static Result train(const std::vector<std::string>& more) {
    std::vector<std::string> all = {LOCKSTEP_PROGRAM, "train", "digits", "-n", "2"};
    all.insert(all.end(), more.begin(), more.end());
    return run_command(all, {.environment = {"OMP_NUM_THREADS=1"}});
  }
  void expect_refused(const std::vector<std::string>& more, const std::string& why) const {
    std::vector<std::string> all = {"--out", folder_ / "out"};
    all.insert(all.end(), more.begin(), more.end());
    const Result result = train(all);
    EXPECT_EQ(result.code, 2) << why;
    EXPECT_THAT(result.errors, HasSubstr(why));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
};

TEST_F(DigitsCommand, ReadsNinetyEightOfAHundredDigitsAfterAnEpoch) {
  const char* all = std::getenv("LOCKSTEP_TEST_DATA");
  const fs::path mnist = fs::path(all == nullptr ? "" : all) / "mnist";
  if (!fs::exists(mnist)) GTEST_SKIP() << "LOCKSTEP_TEST_DATA has no mnist";
  const fs::path lines = folder_ / "log.jsonl";
  testing_support::Command command({LOCKSTEP_PROGRAM, "train", "digits", "-n", "2", "--data", mnist, "--epochs=1",
                                    "--out", folder_ / "out", "--jsonl", lines},
                                   {.environment = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"}});
  int code = -1;
  for (int minute = 0; minute < 14 && code == -1; ++minute) code = command.wait();
  ASSERT_EQ(code, 0) << command.errors();
  std::istringstream log(read_file(lines));
  nlohmann::json last;
  for (std::string line; std::getline(log, line);) last = nlohmann::json::parse(line);
  EXPECT_GE(last.at("validation_accuracy"), 0.98);  // of 10,000; docs/labs.md has more epochs
  for (const char* said :
       {"60,000 images to learn from, 10,000 to judge by", "images/s", "of 10000) at iteration 938"}) {
    EXPECT_THAT(command.output(), HasSubstr(said));
  }
}

TEST_F(DigitsCommand, EachRankMayHaveDigitsOfItsOwn) {
  const Result result = train(arguments({"--partition=by-label", "--norm-linear", "--epochs=2", "--iterations=0",
                                         "--every=1", "--checkpoint-every=10", "--jsonl", folder_ / "log.jsonl"}));
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, AllOf(HasSubstr("60 images to learn from (each rank from other digits), 23 to judge by"),
                                   HasSubstr("of 23) at iteration 10")));
  const std::string lines = read_file(folder_ / "log.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 10) << "two epochs of 60 digits, 12 at a time";
  const Result resumed = train({"--resume", folder_ / "out", "--epochs=3"});
  EXPECT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, AllOf(HasSubstr("(each rank from other digits)"), HasSubstr("iteration 15 ")));
}

TEST_F(DigitsCommand, SaysInOneSentenceWhatIsWrongWithItsInput) {
  expect_refused({}, "--data is needed");
  expect_refused({"--data", folder_ / "none"}, "none/train-images-idx3-ubyte: it cannot be read");
  expect_refused({"--data", folder_ / "data", "--norm=layer"}, "--norm is one of batch, sync, group, not layer");
  expect_refused({"--data", folder_ / "data", "--partition=label"},
                 "--partition is one of shuffled, by-label, not label");
  expect_refused({"--data", folder_ / "data", "--partition=by-label", "--batch=5"},
                 "of 5 cannot be cut so for 2 ranks");
  write("data/train-images-idx3-ubyte", "text");
  expect_refused({"--data", folder_ / "data"}, "train-images-idx3-ubyte: it is no idx file");
}

}  // namespace lockstep
