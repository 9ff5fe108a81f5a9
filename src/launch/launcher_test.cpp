// Jobs of real programs, tests/processes runs.
#include "launch/launcher.h"

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"
#include "topology/cpus.h"

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

TEST(Launcher, NoMoreRanksAreStartedThanTheCoresCanTakeInTurn) {
  EXPECT_EQ(most_ranks_on(1), 256);
  EXPECT_EQ(most_ranks_on(8), 512);
  LaunchOptions options;
  options.command = {"true"};
  options.ranks = most_ranks_on(available_cpus().cores) + 1;
  // Nobody is told to make room for so many descriptors, to be told then that so many are not started.
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 64);
  EXPECT_THAT(
      [&] { launch(options); },
      testing_support::refuses(ErrorCode::kInvalidArgument, "(64 a core, 256 in any case); ask for fewer with -n"));
}

}  // namespace lockstep
