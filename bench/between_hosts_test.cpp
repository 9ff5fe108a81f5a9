// On real namespaces; skipped, with the reason, where this user may not make them.
#include "tests/processes/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::compare {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing_support::Result;
using testing_support::run_command;

namespace {

Result between_hosts(std::vector<std::string> words) {
  words.insert(words.begin(), LOCKSTEP_BETWEEN_HOSTS);
  return run_command(words);
}

}  // namespace

/// Each through a card: every algorithm and the usual compositions, every result checked by the command.
TEST(BetweenHosts, MeasuresWhatHostsTellEachOtherThroughTheirCards) {
  for (const char* collective : {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce"}) {
    const Result measured = between_hosts({"2", "2", "1Gbit/s", collective, "--algorithm", "all", "--min-bytes", "1KiB",
                                           "--max-bytes", "64KiB", "--factor", "64", "--min-time", "1ms"});
    // Said before a rank is started; whatever goes wrong later is a failure.
    if (measured.errors.starts_with("between_hosts: A shaped link cannot be made here: ") && measured.output.empty()) {
      EXPECT_EQ(measured.code, 1);
      GTEST_SKIP() << measured.errors;
    }
    EXPECT_EQ(measured.code, 0) << measured.errors;
    EXPECT_THAT(measured.output, AllOf(ContainsRegex(" ring +[0-9.]+ .* 0\n"),
                                       ContainsRegex(" hierarchical:ring,ring +[0-9.]+ .* 0\n"), HasSubstr("(auto)")))
        << collective;
  }
}

TEST(BetweenHosts, WrongUsageIsRefusedWithTwo) {
  const std::vector<std::vector<std::string>> wrong = {
      {}, {"2", "2"}, {"0", "2", "1Gbit/s"}, {"2", "65", "1Gbit/s"}, {"2", "2", "fast"}, {"many", "2", "1Gbit/s"}};
  for (const std::vector<std::string>& words : wrong) {
    const Result result = between_hosts(words);
    EXPECT_EQ(result.code, 2) << testing::PrintToString(words);
    EXPECT_THAT(result.errors, testing::MatchesRegex("between_hosts: [^\n]+\\.\n")) << testing::PrintToString(words);
    EXPECT_EQ(result.output, "");
  }
}

}  // namespace lockstep::compare
