#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace lockstep::compare {

using testing::HasSubstr;
using testing_support::Result;
using testing_support::run_command;

class Predictions : public testing_support::TemporaryFolder {};

TEST_F(Predictions, WrongUsageIsRefusedWithTwo) {
  const std::vector<std::vector<std::string>> wrong = {{}, {"missing.json"}, {"--nonsense"}, {"/dev/null", "-5"}};
  for (const std::vector<std::string>& words : wrong) {
    std::vector<std::string> command = {LOCKSTEP_PREDICTIONS};
    command.insert(command.end(), words.begin(), words.end());
    const Result result = run_command(command);
    EXPECT_EQ(result.code, 2) << testing::PrintToString(words);
    EXPECT_THAT(result.errors, testing::MatchesRegex("predictions: [^\n]+\\.\n"));
    EXPECT_EQ(result.output, "");
  }
}

TEST_F(Predictions, WhatIsNoCalibrationIsAnErrorThatNamesTheFile) {
  const std::filesystem::path file = folder_ / "calibration.json";
  std::ofstream(file) << "{}";
  const Result result = run_command({LOCKSTEP_PREDICTIONS, file});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.errors, HasSubstr(file.string()));
}

}  // namespace lockstep::compare
