// Jobs of real programs, tests/processes runs.
#include "launch/launcher.h"

#include "base/error_for_tests.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Launcher, AJobHasAProgramAndARank) {
  LaunchOptions options;
  EXPECT_THAT([&] { launch(options); },
              testing_support::refuses(ErrorCode::kInvalidArgument, "There is no program to run."));
  options.command = {"true"};
  options.ranks = 0;
  EXPECT_THAT([&] { launch(options); },
              testing_support::refuses(ErrorCode::kInvalidArgument, "A job has at least 1 rank, not 0."));
}

}  // namespace lockstep
