// The program that bench/compare_training measures with: what it prints.
#include "tests/processes/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep {
namespace {

using testing_support::Command;

constexpr int kParametersOfALayer = 4 * 24 * 24 + 4 * 24 + 2 * 24 * 96 + 96 + 24 + 4 * 24;

struct Model {
  std::string layers = "1";
  std::string width = "24";
};

nlohmann::json run_with(const std::vector<std::string>& more, const Model& model = {},
                        const Command::Options& options = {}) {
  std::vector<std::string> job{LOCKSTEP_PROGRAM, "run", "-n", "2", LOCKSTEP_TRAINING_COST};
  job.insert(job.end(), {"--layers", model.layers, "--width", model.width});
  job.insert(job.end(), {"--batch", "2", "--warm-up", "1", "--iterations", "3"});
  job.insert(job.end(), more.begin(), more.end());
  Command command(job, options);
  EXPECT_EQ(command.wait(), 0) << command.errors();
  const std::string output = command.output();
  return nlohmann::json::parse(output.substr(std::min(output.size(), output.find('{'))));
}

}  // namespace

TEST(TrainingCost, PrintsEachIterationWithAndWithout) {
  const nlohmann::json result = run_with({});
  EXPECT_EQ(result.at("world_size"), 2);
  EXPECT_EQ(result.at("parameters"), kParametersOfALayer);
  for (const char* times : {"alone_ms", "alone_backward_ms", "together_ms", "together_backward_ms", "exposed_ms"}) {
    ASSERT_EQ(result.at(times).size(), 3U) << times;
    for (const double ms : result.at(times)) EXPECT_GT(ms, 0) << times;
  }
  EXPECT_GE(result.at("buckets"), 1);
}

TEST(TrainingCost, TrainsOneCopyOnRequest) {
  EXPECT_FALSE(run_with({"--mode", "wrapped"}).contains("alone_ms"));
  EXPECT_FALSE(run_with({"--mode", "alone"}).contains("together_ms"));
}

TEST(TrainingCost, WrongUsageIsSaidAndExits2) {
  Command command({LOCKSTEP_TRAINING_COST, "--nonsense"});
  EXPECT_EQ(command.wait(), 2);
  EXPECT_EQ(command.errors(), "training_cost: The following argument was not expected: --nonsense.\n");
  Command help({LOCKSTEP_TRAINING_COST, "--help"});
  EXPECT_EQ(help.wait(), 0);
  EXPECT_EQ(help.errors(), "");
}

/// 21 M parameters and their gradients are 81 MiB each; buckets take 25 or less, and to lay them out anew takes one
/// more or two. What is freed goes back to the system: what an allocator keeps differs by 35 MiB between runs.
TEST(TrainingCost, TheMostMemoryHasNoSecondCopyOfTheGradients) {
  Command::Options keeping_nothing;
  keeping_nothing.environment = {"GLIBC_TUNABLES=glibc.malloc.mmap_threshold=65536"};
  const auto peak = [&](const char* mode) {
    return run_with({"--mode", mode}, {"3", "768"}, keeping_nothing).at("peak_mib").get<double>();
  };
  std::vector<double> added;
  for (int run = 0; run < 3; ++run) {
    const double alone = peak("alone");
    EXPECT_GT(alone, 2 * 81);
    added.push_back(peak("wrapped") - alone);
  }
  std::sort(added.begin(), added.end());
  EXPECT_LT(added[1], 2 * 25 + 5);
}

/// At stage 3 what a rank keeps of a layer between iterations is half of it, to where a flat may be cut.
TEST(TrainingCost, MeasuresStageThreeBesideStageZero) {
  const nlohmann::json result = run_with({"--mode", "stages"});
  for (const char* times : {"stage_0_ms", "stage_0_backward_ms", "stage_3_ms", "stage_3_backward_ms"}) {
    ASSERT_EQ(result.at(times).size(), 3U) << times;
    for (const double ms : result.at(times)) EXPECT_GT(ms, 0) << times;
  }
  EXPECT_EQ(result.at("parameters"), kParametersOfALayer);
  EXPECT_NEAR(result.at("stage_3_parameters").get<double>(), kParametersOfALayer / 2, 100);
}

TEST(TrainingCost, MeasuresThePriceOfInvariantBits) {
  const nlohmann::json result = run_with({"--micro-batches", "4"});
  for (const char* times : {"alone_ms", "together_ms", "communication_ms"}) {
    EXPECT_EQ(result.at(times).size(), 3U) << times;
  }
}

}  // namespace lockstep
