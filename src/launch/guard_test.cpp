// What is left of a job whose launcher is killed, tests/processes looks at.
#include "launch/guard.h"

#include "base/child_for_tests.h"
#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <gtest/gtest.h>

#include <sys/wait.h>

namespace lockstep {

TEST(Guard, IsGoneOnceItIsDismissed) {
  Guard guard("job");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0) << "this process has a child";
  guard.dismiss();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "and then none";
  guard.dismiss();
}

TEST(Guard, SaysWhatItLacks) {
  const auto make = [] {
    const Guard guard("job");
    return "made";
  };
  EXPECT_STREQ(make(), "made");
  if (const auto said = testing_support::said_with_few_tasks(0, make)) {
    EXPECT_EQ(*said, "Starting the process that guards the job failed: Resource temporarily unavailable.");
  }
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT(
      make, testing_support::refuses(ErrorCode::kTransport,
                                     "Making a socket to the process that guards the job failed: Too many open files"));
}

}  // namespace lockstep
