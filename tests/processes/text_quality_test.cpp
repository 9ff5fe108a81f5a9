// What `lockstep train text` is worth: nanoGPT's setting for characters of Shakespeare on a CPU (4 layers, 4 heads, 128
// wide, context 64, batch 12, 2000 iterations, no dropout), for which it publishes a validation loss of 1.88.
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace lockstep {

namespace fs = std::filesystem;

class Shakespeare : public testing_support::TemporaryFolder, public testing::WithParamInterface<int> {};

TEST_P(Shakespeare, ReachesThePublishedLoss) {
  const char* data = std::getenv("LOCKSTEP_TEST_DATA");
  const fs::path text = fs::path(data == nullptr ? "" : data) / "tinyshakespeare" / "input.txt";
  if (!fs::exists(text)) GTEST_SKIP() << "LOCKSTEP_TEST_DATA has no tinyshakespeare/input.txt";
  const fs::path lines = folder_ / "log.jsonl";
  testing_support::Command command({LOCKSTEP_PROGRAM, "train", "text", "-n", std::to_string(GetParam()), "--data", text,
                                    "--out", folder_ / "out", "--jsonl", lines, "--layers=4", "--heads=4",
                                    "--width=128", "--context=64", "--batch=12", "--iterations=2000", "--dropout=0"});
  int code = -1;
  for (int minute = 0; minute < 14 && code == -1; ++minute) code = command.wait();
  ASSERT_EQ(code, 0) << command.errors();
  std::istringstream log(read(lines));
  nlohmann::json last;
  for (std::string line; std::getline(log, line);) last = nlohmann::json::parse(line);
  EXPECT_EQ(last.at("iteration"), 2000);
  EXPECT_LE(last.at("validation_loss"), 1.88);  // over the whole last tenth of the text
}

INSTANTIATE_TEST_SUITE_P(Ranks, Shakespeare, testing::Values(1, 2), testing::PrintToStringParamName());

}  // namespace lockstep
