// What `lockstep lab` answers to bad input before anything is measured; tests/processes/lab_command_test.cpp runs it.
#include "cli/program_for_tests.h"

namespace lockstep {

TEST(CliLab, BadInputIsAnsweredInOneSentence) {
  for (const char* option : {"--iterations", "--rounds"}) {
    for (const char* value : {"0", "-1", "many", "2.5", "2147483648", "99999999999999999999"}) {
      expect_usage_error({"lab", "buckets", option, value}, std::string(option) + " takes a whole number from 1 to " +
                                                                "2147483647; '" + value + "' is not one.");
    }
  }
  expect_usage_error({"lab", "buckets", "--sizes", "64KiB,2"}, "--sizes are at least 4 bytes; '2' is not.");
  expect_usage_error({"lab", "buckets", "--sizes", "99999999999999999999"},
                     "--sizes: '99999999999999999999' is not a size");
  expect_usage_error({"lab", "scaling", "--algorithms", "ring,pairwise"},
                     "The algorithm 'pairwise' does no all_reduce, but all_to_all; these do: ");
  expect_usage_error({"lab", "buckets", "--out", "/dev/null/page.html"},
                     "--out /dev/null/page.html cannot be written: ");
}

}  // namespace lockstep
