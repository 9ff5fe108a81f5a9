// The example of collectives says what its page shows: on any number of ranks, through memory and over TCP.
#include "tests/processes/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep {

using testing::HasSubstr;
using testing::Not;
using testing_support::Command;
using testing_support::Result;
using testing_support::run_command;

TEST(CollectivesExample, SaysWhatRanksSumGatherAndHear) {
  for (const char* const transport : {"shm", "tcp"}) {
    const Command::Options options{.environment = {std::string("LOCKSTEP_TRANSPORT=") + transport}};
    const Result result = run_command({LOCKSTEP_PROGRAM, "run", "-n", "4", LOCKSTEP_COLLECTIVES}, options);
    EXPECT_EQ(result.code, 0) << result.errors;
    for (int rank = 0; rank < 4; ++rank) {
      const std::string number = std::to_string(rank);
      const std::string begin = "[rank " + number + "] rank " + number;
      EXPECT_THAT(result.output, HasSubstr(begin + " of 4: mean 1.5, sum 6 by "));
      EXPECT_THAT(result.output, HasSubstr(begin + ": with rank " + (rank % 2 == 0 ? "0 to 2\n" : "1 to 3\n")));
      EXPECT_THAT(result.output, HasSubstr(begin + ": heard from rank " + std::to_string((rank + 3) % 4) + "\n"));
    }
  }
}

TEST(CollectivesExample, ARankAloneHasNobodyToTell) {
  const Result result = run_command({LOCKSTEP_COLLECTIVES});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("rank 0 of 1: mean 0.0, sum 0 by "));
  EXPECT_THAT(result.output, Not(HasSubstr("heard")));
}

}  // namespace lockstep
