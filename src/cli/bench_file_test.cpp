// `lockstep bench --schedule FILE`.
#include "cli/program_for_tests.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep {

using testing::HasSubstr;
using testing_support::Result;

class CliBenchFile : public testing_support::TemporaryFolder {
 protected:
  /// A direct exchange of two ranks, with `from` replaced.
  std::string file_with(const std::string& from, const std::string& to) {
    std::string text = lockstep_with({"show", "direct", "-n", "2", "--format", "schedule"}).output;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << text;
    if (at != std::string::npos) text.replace(at, from.size(), to);
    return write("changed.txt", text, kPlainFile);
  }
};

TEST_F(CliBenchFile, RunsBesideTheCatalogues) {
  const std::string file = folder_ / "direct.txt";
  EXPECT_EQ(lockstep_with({"show", "direct", "-n", "2", "--format", "schedule", "-o", file}).code, 0);
  const Result result =
      lockstep_with({"bench", "all_reduce", "-n", "2", "--schedule", file, "--algorithm", "direct", "--min-bytes", "64",
                     "--max-bytes", "64", "--min-time", "1ms", "--cache-bytes", "1MiB"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(
      result.output,
      testing::AllOf(HasSubstr(" direct "), HasSubstr(" direct#"),
                     testing::ContainsRegex("\n# +64 bytes: the file took direct#[^ ]*, [+-][0-9.]+ % of direct, ")));
  expect_usage_error({"bench", "all_reduce", "--schedule", "no/file"}, "--schedule: there is no file 'no/file'");
  expect_usage_error({"bench", "all_reduce", "--schedule", "/"}, "--schedule: '/' is not a file");
  expect_usage_error({"bench", "broadcast", "--schedule", file}, "is for all_reduce, not for broadcast");
  expect_usage_error({"bench", "all_reduce", "-n", "3", "--schedule", file}, "is for 2 ranks, not 3; leave out -n");
  const std::string rooted = folder_ / "rooted.txt";
  EXPECT_EQ(lockstep_with({"show", "tree", "-n", "2", "--collective", "broadcast", "--root", "1", "--format",
                           "schedule", "-o", rooted})
                .code,
            0);
  const std::vector<std::string> few{"--min-time", "1ms", "--cache-bytes", "1MiB", "--format", "json"};
  const auto measured = [&](std::vector<std::string> words) {
    words.insert(words.end(), few.begin(), few.end());
    if (words[1] != "barrier") words.insert(words.end(), {"--max-bytes", "16"});
    const Result run = lockstep_with(words);
    EXPECT_EQ(run.code, 0) << run.errors;
    return nlohmann::json::parse(run.output);
  };
  EXPECT_EQ(measured({"bench", "broadcast", "--schedule", rooted})["root"], 1) << "its own";
  for (const char* collective : {"broadcast", "reduce", "gather", "scatter"}) {
    const auto of_all = measured({"bench", collective, "-n", "3", "--root", "2", "--algorithm", "all"});
    EXPECT_EQ(of_all["root"], 2);
    EXPECT_GT(of_all["rows"].size(), 1U);
    for (const auto& row : of_all["rows"]) EXPECT_EQ(row["wrong"], 0) << row;
  }
  EXPECT_EQ(measured({"bench", "barrier", "-n", "2"})["root"], nullptr);
  expect_usage_error({"bench", "broadcast", "--schedule", rooted, "--root", "0"},
                     "has root 1, not 0; leave out --root.");
  expect_usage_error({"bench", "all_reduce", "-n", "2", "--root", "1"},
                     "--root is for broadcast, scatter, reduce and gather; all_reduce has none.");
  expect_usage_error({"bench", "all_gather", "-n", "3", "--max-bytes", "8"},
                     "--max-bytes is 8, and the smallest all_gather of 3 ranks has 12 bytes");
  expect_usage_error({"bench", "all_reduce", "-n", "2", "--algorithm", "segmented:65536:star"},
                     "'star' is cut into at most 65535 segments on 2 ranks; 65536 are too many.");
  expect_usage_error({"bench", "reduce", "-n", "2", "--root", "2"}, "--root takes a rank from 0 to 1; '2' is not one.");
}

/// That a schedule is read from a text costs no time: in the same rounds, and in one of a few tries at least, since
/// others use the machine.
TEST_F(CliBenchFile, TakesAsLongAsTheCataloguesWithinFivePercent) {
  constexpr double kMostLost = 0.05;
  constexpr int kTries = 6;
  const std::string file = folder_ / "direct.txt";
  EXPECT_EQ(lockstep_with({"show", "direct", "-n", "2", "--format", "schedule", "-o", file}).code, 0);
  std::vector<double> worst;
  do {
    const Result run = lockstep_with({"bench",       "all_reduce",    "-n",       "2",           "--schedule",
                                      file,          "--algorithm",   "direct",   "--min-bytes", "1KiB",
                                      "--max-bytes", "1MiB",          "--factor", "32",          "--min-time",
                                      "60ms",        "--cache-bytes", "1MiB",     "--format",    "json"});
    ASSERT_EQ(run.code, 0) << run.errors;
    const auto json = nlohmann::json::parse(run.output);
    ASSERT_EQ(json.at("regret_of_file").size(), 3U);
    worst.push_back(-1);
    for (const auto& size : json["regret_of_file"]) worst.back() = std::max(worst.back(), size["share"].get<double>());
  } while (worst.back() > kMostLost && worst.size() < kTries);
  EXPECT_LE(worst.back(), kMostLost) << testing::PrintToString(worst);
}

/// By the command itself, once: of two ranks each would say it.
TEST_F(CliBenchFile, IsRefusedBeforeARankStarts) {
  const auto expect_refusal = [&](const std::string& file, const std::string& sentence) {
    const std::string results = folder_ / "results.json";
    const Result result = lockstep_with(
        {"bench", "all_reduce", "--schedule", file, "--max-bytes", "4", "--min-time", "1ms", "-o", results});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(result.errors, "lockstep: " + sentence + "\n");
    EXPECT_FALSE(std::filesystem::exists(results));
  };
  const std::string malformed = file_with("reduce 0 from 1 to 0", "reduce 0 from 7 to 0");
  expect_refusal(malformed, malformed + ", line 8: there is no rank 7 among 2.");
  // It would leave rank 1 without the sum.
  expect_refusal(
      file_with("copy 0 from 0 to 1\n", ""),
      "The schedule 'direct' is refused: step 1, chunk 0, rank 1: rank 1 ends with the contributions 1 only.");
}

}  // namespace lockstep
