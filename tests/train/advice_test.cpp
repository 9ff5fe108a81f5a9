// What the advisor says of a hook is what happens: through shared memory, and on a link of 100 Mbit/s.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>

#include "tests/processes/command.h"
#include "tests/train/values_after.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::Command;
using testing_support::values_after;

const std::vector<std::string> kHooks = {
    "bfloat16",           "int8",     "sign",      "qsgd",          "top_k",       "threshold",
    "adaptive_threshold", "random_k", "power_sgd", "deep_gradient", "one_bit_adam"};

std::vector<std::string> all_hooks() {
  std::vector<std::string> command = {LOCKSTEP_PROGRAM, "run", "-n", "2", LOCKSTEP_EXAMPLES "compression_advice"};
  command.insert(command.end(), kHooks.begin(), kHooks.end());
  return command;
}

/// A network of its own whose loopback carries 100 Mbit/s; it goes with the command.
std::vector<std::string> on_a_slow_link(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = {
      "unshare",
      "--map-root-user",
      "--net",
      "sh",
      "-c",
      "ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate 100mbit burst 64kb latency 50ms && exec \"$@\"",
      "sh"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return arguments;
}

double value_after(const std::string& word, const std::string& text) {
  const auto values = values_after(word, text);
  EXPECT_EQ(values.size(), 1u) << text;
  return values.empty() ? 0 : values.front();
}

/// What the example shows of a hook.
struct Shown {
  std::string sentence;
  double dense_ms;
  double compressed_ms;
  bool is_clear;  ///< the times are too far apart for chance
};

std::vector<Shown> shown(const std::string& output) {
  constexpr double kClearly = 2;
  std::vector<Shown> all;
  std::istringstream in(output);
  for (std::string before, line; std::getline(in, line); before = line) {
    if (line.find("measured: dense ") == std::string::npos) continue;
    const double dense_ms = value_after("dense ", line);
    const double compressed_ms = value_after("compressed ", line);
    const bool is_clear = dense_ms > kClearly * compressed_ms || compressed_ms > kClearly * dense_ms;
    all.push_back({before, dense_ms, compressed_ms, is_clear});
  }
  return all;
}

/// How many hooks' times are clear, and on which of these the verdict is not the order of the times.
struct Verdicts {
  std::size_t clear = 0;
  std::vector<std::string> wrong;
};

Verdicts verdicts_of(const std::string& output) {
  Verdicts verdicts;
  const auto all = shown(output);
  EXPECT_EQ(all.size(), kHooks.size()) << output;
  for (const auto& [sentence, dense_ms, compressed_ms, is_clear] : all) {
    if (!is_clear) continue;
    ++verdicts.clear;
    const bool pays = compressed_ms < dense_ms;
    if (sentence.find(pays ? " pays on this link" : " does not pay on this link") != std::string::npos) continue;
    verdicts.wrong.push_back(sentence + " measured: " + std::to_string(dense_ms) + " ms dense, " +
                             std::to_string(compressed_ms) + " ms compressed");
  }
  return verdicts;
}

/// What the command prints, of which every clear verdict is right, and at least so many are clear. Where others use the
/// machine, chance may have made the times, so what is wrong counts only if it is in three runs of three.
std::string right_output(const std::vector<std::string>& words, const Command::Options& options,
                         std::size_t least_clear) {
  constexpr int kRuns = 3;
  for (int run = 1;; ++run) {
    Command command(words, options);
    EXPECT_EQ(command.wait(), 0) << command.output() << command.errors();
    std::printf("%s", command.output().c_str());
    const Verdicts verdicts = verdicts_of(command.output());
    if (run < kRuns && (verdicts.clear < least_clear || !verdicts.wrong.empty())) continue;
    EXPECT_GE(verdicts.clear, least_clear) << command.output();
    EXPECT_THAT(verdicts.wrong, IsEmpty());
    return command.output();
  }
}

TEST(Advice, ThroughSharedMemoryIsWhatHappens) {
  const std::string output = right_output(all_hooks(), {}, (kHooks.size() + 1) / 2);
  EXPECT_THAT(output, HasSubstr("top_k(0.05)) does not pay on this link"));
}

TEST(Advice, OnALinkOf100MbitIsWhatHappens) {
  Command shaped(on_a_slow_link({"true"}));
  if (shaped.wait() != 0)
    GTEST_SKIP() << "no link can be shaped here (a network namespace with tc): " << shaped.errors();
  const std::string output = right_output(on_a_slow_link(all_hooks()), {.environment = {"LOCKSTEP_TRANSPORT=tcp"}}, 8);
  EXPECT_THAT(output, HasSubstr("top_k(0.05)) pays on this link"));
  // Both ranks send through one loopback, so each has half of its 12.5 MB/s.
  const auto speeds = values_after("us a message, ", output);
  ASSERT_FALSE(speeds.empty()) << output;
  EXPECT_LE(speeds.front(), 7) << output;
}

TEST(Advice, OnALinkOf100MbitTrainingIsBoundByTheNetwork) {
  Command shaped(on_a_slow_link({"true"}));
  if (shaped.wait() != 0)
    GTEST_SKIP() << "no link can be shaped here (a network namespace with tc): " << shaped.errors();
  Command command(on_a_slow_link({LOCKSTEP_PROGRAM, "run", "-n", "2", LOCKSTEP_EXAMPLES "bottleneck"}),
                  {.environment = {"LOCKSTEP_TRANSPORT=tcp"}});
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  EXPECT_THAT(command.output(), HasSubstr("It is network-bound: "));
  EXPECT_THAT(command.output(), HasSubstr("so the link does not keep up"));
  EXPECT_LT(value_after("against one rank: ", command.output()), 50) << command.output();
}

}  // namespace
}  // namespace lockstep
