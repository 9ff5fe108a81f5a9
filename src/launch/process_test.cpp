// Real programs, and some that cannot run, tests/processes starts.
#include "launch/process.h"

#include "base/child_for_tests.h"
#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace lockstep {

TEST(Process, SaysWhatItLacks) {
  const auto start = [] {
    const Process process = start_process({.path = "/bin/true", .arguments = {"true"}, .environment = {}, .cpus = {}});
    ::waitpid(process.pid, nullptr, 0);
    return "started";
  };
  EXPECT_STREQ(start(), "started");
  if (const auto said = testing_support::said_with_few_tasks(0, start)) {
    EXPECT_EQ(*said, "Starting a process for a rank failed: Resource temporarily unavailable.");
  }
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT(start,
              testing_support::refuses(ErrorCode::kTransport, "Making a pipe for a rank failed: Too many open files"));
}

}  // namespace lockstep
