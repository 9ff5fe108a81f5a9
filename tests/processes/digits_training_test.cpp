// `lockstep train digits` on MNIST as it is, and on files that are wrong.
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace lockstep {

using testing::HasSubstr;
using testing_support::Command;
using testing_support::Result;

namespace fs = std::filesystem;

class DigitsCommand : public testing_support::TemporaryFolder {
 protected:
  Result train(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {LOCKSTEP_PROGRAM, "train", "digits", "-n", "2", "--out", folder_ / "out"};
    all.insert(all.end(), more.begin(), more.end());
    Command command(all, {.environment = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"}});
    int code = -1;
    for (int minute = 0; minute < 14 && code == -1; ++minute) code = command.wait();
    return {code, command.output(), command.errors()};
  }
};

TEST_F(DigitsCommand, ReadsNinetyEightOfAHundredDigitsAfterAnEpoch) {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  const fs::path mnist = fs::path(data == nullptr ? "" : data) / "mnist";
  if (!fs::exists(mnist)) GTEST_SKIP() << "LOCKSTEP_TEST_DATA has no mnist";
  const Result result = train({"--data", mnist, "--epochs=1", "--jsonl", folder_ / "log.jsonl"});
  ASSERT_EQ(result.code, 0) << result.errors;
  std::istringstream log(read(folder_ / "log.jsonl"));
  nlohmann::json last;
  for (std::string line; std::getline(log, line);) last = nlohmann::json::parse(line);
  EXPECT_GE(last.at("validation_accuracy"), 0.98);  // of 10,000; docs/labs.md has more epochs
  for (const char* said :
       {"60,000 images to learn from, 10,000 to judge by", "images/s", "of 10000) at iteration 938"}) {
    EXPECT_THAT(result.output, HasSubstr(said));
  }
}

TEST_F(DigitsCommand, SaysInOneSentenceWhatIsWrongWithItsInput) {
  write("train-images-idx3-ubyte", "text", fs::perms::owner_all);
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{}, "--data is needed"},
      {{"--data", folder_ / "none"}, "none/train-images-idx3-ubyte: it cannot be read"},
      {{"--data", folder_}, "train-images-idx3-ubyte: it is no idx file"},
      {{"--data", folder_, "--norm=layer"}, "--norm is one of batch, sync, group, not layer"}};
  for (const auto& [arguments, why] : wrong) {
    const Result result = train(arguments);
    EXPECT_EQ(result.code, 2) << why;
    EXPECT_THAT(result.errors, HasSubstr(why));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
}

}  // namespace lockstep
