// `lockstep show` and `prove` where ranks are not on hosts in their order.
#include "cli/program_for_tests.h"

#include <string>

namespace lockstep {

using testing::HasSubstr;

namespace {

std::string shown(const std::vector<std::string>& more) {
  std::vector<std::string> words{"show", "ring", "-n", "4", "--format", "schedule"};
  words.insert(words.end(), more.begin(), more.end());
  const testing_support::Result result = lockstep_with(words);
  EXPECT_EQ(result.code, 0) << result.errors;
  return result.output;
}

}  // namespace

TEST(CliHosts, ARingGoesAlongHosts) {
  const std::string in_order = shown({});
  EXPECT_THAT(in_order, HasSubstr("from 0 to 1"));
  EXPECT_EQ(shown({"--hosts", "0,0,1,1"}), in_order);
  EXPECT_EQ(shown({"--local-size", "2"}), in_order);
  const std::string in_turn = shown({"--hosts", "0,1,0,1"});
  EXPECT_THAT(in_turn, testing::AllOf(HasSubstr("from 0 to 2"), HasSubstr("from 2 to 1"), HasSubstr("from 1 to 3"),
                                      HasSubstr("from 3 to 0"), testing::Not(HasSubstr("from 0 to 1"))));
  const auto proved = lockstep_with({"prove", "ring", "-n", "4", "--hosts", "0,1,0,1"});
  EXPECT_EQ(proved.code, 0) << proved.errors;
}

TEST(CliHosts, CompositionsTakeThemToo) {
  const auto proved = lockstep_with({"prove", "hierarchical:ring,ring", "-n", "4", "--hosts", "0,1,0,1"});
  EXPECT_EQ(proved.code, 0) << proved.errors;
}

TEST(CliHosts, WhatAreNoneAreRefused) {
  expect_usage_error({"show", "ring", "-n", "4", "--hosts", "0,1,0"},
                     "--hosts takes a number for each of the 4 ranks, as in 0,1,0,1; '0,1,0' has 3.");
  expect_usage_error({"show", "ring", "-n", "4", "--hosts", "0,1,0,4"}, "from 0 to 3; '4' is not one");
  expect_usage_error({"show", "ring", "-n", "4", "--hosts", "0,,0,1"}, "from 0 to 3; '' is not one");
  expect_usage_error({"show", "ring", "-n", "4", "--hosts", "0,1,0,1,"}, "from 0 to 3; '' is not one");
  expect_usage_error({"show", "ring", "-n", "4", "--hosts", "0,1,0,1", "--local-size", "2"},
                     "--local-size and --hosts both say which ranks share a host; leave out one of the two.");
}

}  // namespace lockstep
