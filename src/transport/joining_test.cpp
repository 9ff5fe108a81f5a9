#include "transport/joining.h"

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep {

TEST(Joining, RanksThatFollowEachOtherAreOneRange) {
  EXPECT_EQ(ranks_in_words({7}), "rank 7");
  EXPECT_EQ(ranks_in_words({1, 2}), "ranks 1, 2");
  EXPECT_EQ(ranks_in_words({5, 3}), "ranks 5, 3");
  EXPECT_EQ(ranks_in_words({0, 2, 3, 4, 6, 7, 9}), "ranks 0, 2 to 4, 6, 7, 9");
  std::vector<int> all(4999);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(ranks_in_words(all), "ranks 1 to 4999");
  for (int& rank : all) rank *= 2;
  EXPECT_EQ(ranks_in_words(all), "ranks 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32 and 4983 more");
}

TEST(Joining, WhatThisProcessCannotHoldIsRefused) {
  const testing_support::Limit files(RLIMIT_NOFILE, 300);
  EXPECT_NO_THROW(require_room_for(101, {.rank = 0, .a_peer = 3}));
  EXPECT_THAT([] { require_room_for(102, {.rank = 5, .a_peer = 3}); },
              testing_support::refuses(ErrorCode::kInvalidArgument,
                                       "Rank 5 needs more than 303 open files to join 102 ranks and may have 300; "
                                       "start fewer, or raise it (ulimit -n)."));
  EXPECT_NO_THROW(require_room_for(64, {.rank = 5, .a_peer = 30})) << "of so few the system says it";
  EXPECT_THAT([] { require_room_for(99'999'999, {.rank = 0, .a_peer = 3}); },
              testing_support::refuses(ErrorCode::kInvalidArgument,
                                       "Rank 0 is to join 99999999 ranks, and at most 1048576 join each other; is that "
                                       "the number that the launcher was to start?"));
}

}  // namespace lockstep
