#include "transport/mpi/join.h"

#include "base/error_for_tests.h"
#include "transport/mpi/calls_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep::mpi {

using std::chrono::milliseconds;
using testing_support::refuses;

TEST(MpiJoin, WhoDoesNotComeIsNamedAtTheDeadline) {
  const Calls calls = calls_that_bring_nothing();
  const Process process(calls, milliseconds(10));
  EXPECT_THAT([&] { (void)join(process, {}, {.rank = 0, .size = 3, .timeout = milliseconds(20)}); },
              refuses(ErrorCode::kTimeout,
                      "Rank 0 waited 0.02 s for ranks 1, 2 to join over MPI. Do all 3 ranks make this group?"));
  EXPECT_THAT([&] { (void)join(process, {}, {.rank = 2, .size = 3, .timeout = milliseconds(20)}); },
              refuses(ErrorCode::kTimeout,
                      "Rank 2 waited 0.02 s for rank 0's answer over MPI. Do all 3 ranks make this group?"));
}

/// As a small message may do where MPI has no room for it.
TEST(MpiJoin, AWordThatIsNotTakenIsNotWaitedForLonger) {
  Calls calls = calls_that_bring_nothing();
  calls.test = [](Request*, int*, std::size_t*, int*) -> const char* { return nullptr; };
  const Process process(calls, milliseconds(10));
  EXPECT_THAT([&] { (void)join(process, {}, {.rank = 1, .size = 2, .timeout = milliseconds(20)}); },
              refuses(ErrorCode::kTimeout,
                      "Rank 1 waited 0.02 s for rank 0's answer over MPI. Do all 2 ranks make this group?"));
}

TEST(MpiJoin, APartOfAGroupCallsItsRanksAsTheGroupDoesAndWaitsNoLonger) {
  const Calls calls = calls_that_bring_nothing();
  const Process process(calls, milliseconds(10));
  EXPECT_THAT(
      [&] {
        (void)join(process, {}, {.rank = 1, .size = 2, .timeout = milliseconds(20), .company = {.names = {5, 3}}});
      },
      refuses(ErrorCode::kTimeout, "Rank 3 waited 0.02 s for rank 5's answer over MPI."));
  const auto dies = [] { throw Error(ErrorCode::kPeerDied, "rank 7 died", {.peer = 7}); };
  for (const int rank : {0, 1}) {
    EXPECT_THAT(
        [&] {
          (void)join(
              process, {},
              {.rank = rank, .size = 2, .timeout = milliseconds(20'000), .company = {.names = {5, 3}, .look = dies}});
        },
        refuses(ErrorCode::kPeerDied, "rank 7 died"));
  }
}

}  // namespace lockstep::mpi
