// Jobs of real programs, tests/processes runs.
#include "launch/launcher.h"

#include "base/error_for_tests.h"
#include "topology/cpus.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

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
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit all{before.rlim_max, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &all), 0);
  // Where the system has no room for their pipes either, that is what is said.
  const bool has_room = before.rlim_max >= 2 * static_cast<rlim_t>(options.ranks) + 64;
  EXPECT_THAT([&] { launch(options); },
              testing_support::refuses(ErrorCode::kInvalidArgument,
                                       has_room ? "(64 a core, 256 in any case); ask for fewer with -n"
                                                : "start fewer, or raise it (ulimit -n"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace lockstep
