#include "bench/refit_for_tests.h"
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

/// A ring of 3 ranks takes twice as long at 4 KiB as all else says.
TEST_F(Predictions, WhatIsFarOffIsListed) {
  const auto seconds = [](const Schedule& schedule, double bytes) {
    const bool is_odd_one = schedule.name == "ring" && schedule.ranks == 3 && bytes == 4096;
    return bench::in_shared_memory(schedule, bytes) * (is_odd_one ? 2 : 1);
  };
  const std::filesystem::path file = folder_ / "calibration.json";
  std::ofstream(file) << to_json(bench::calibration_of(bench::samples_that_take(seconds), {}));
  const Result result = run_command({LOCKSTEP_PREDICTIONS, file});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output,
              testing::MatchesRegex("shm: [^\n]+\n"
                                    "  sizes: [^\n]+, 0 of [0-9]+ by more than 25 %\n"
                                    "  all_reduce by ring, 3 ranks, 4 KiB: measured [^\n]+ \\(-(49|50|51) %\\)\n"
                                    "  numbers of ranks: [^\n]+, 1 of [0-9]+ by more than 25 %\n"));
}

}  // namespace lockstep::compare
