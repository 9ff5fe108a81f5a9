// What the advisor says of a hook is what happens: through shared memory, and on a link of 100 Mbit/s.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/command.h"
#include "tests/train/values_after.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing_support::Command;
using testing_support::values_after;

const std::vector<std::string> kExample = {LOCKSTEP_PROGRAM, "run", "-n", "2", LOCKSTEP_EXAMPLES "compression_advice"};

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

TEST(Advice, ThroughSharedMemoryTopKDoesNotPay) {
  Command command(kExample);
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  EXPECT_THAT(command.output(), HasSubstr("top_k(0.01)) does not pay on this link"));
  EXPECT_GT(value_after("compressed ", command.output()), value_after("dense ", command.output())) << command.output();
}

TEST(Advice, OnALinkOf100MbitItPays) {
  Command shaped(on_a_slow_link({"true"}));
  if (shaped.wait() != 0)
    GTEST_SKIP() << "no link can be shaped here (a network namespace with tc): " << shaped.errors();
  Command command(on_a_slow_link(kExample), {.environment = {"LOCKSTEP_TRANSPORT=tcp"}});
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  EXPECT_THAT(command.output(), HasSubstr("top_k(0.01)) pays on this link"));
  EXPECT_LT(value_after("compressed ", command.output()), value_after("dense ", command.output())) << command.output();
  // Both ranks send through one loopback, so each has half of its 12.5 MB/s.
  EXPECT_LE(values_after("us a message, ", command.output()).front(), 7) << command.output();
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
