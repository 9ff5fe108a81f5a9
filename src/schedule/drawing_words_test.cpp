#include "schedule/drawing_words.h"

#include "base/error_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

TEST(DrawingWords, RanksGoByLettersAsLongAsThereAreSome) {
  EXPECT_EQ(letter_of(0, 26), "a");
  EXPECT_EQ(letter_of(25, 26), "z");
  EXPECT_EQ(letter_of(25, 27), "25");
}

TEST(DrawingWords, SumsReadAsInTextbooks) {
  EXPECT_EQ(sum_of({0, 1, 3}, 0, 4), "a1+b1+d1");
  EXPECT_EQ(sum_of({3}, 3, 4), "d4");
  EXPECT_EQ(sum_of({0, 26}, 4, 27), "0+26");
  EXPECT_EQ(sum_of({}, 0, 4), "");
}

TEST(DrawingWords, RunsOfThreeAndMoreAreShortened) {
  EXPECT_EQ(short_sum_of({0, 1, 2, 3, 5}, 8), "a-d+f");
  EXPECT_EQ(short_sum_of({0, 1, 3, 4, 5}, 8), "a+b+d-f");
  EXPECT_EQ(short_sum_of({0, 1, 2, 30}, 32), "0-2+30");
}

TEST(DrawingWords, SummariesNameTheRootWhereThereIsOne) {
  EXPECT_EQ(summary_of({.ranks = 2}), "all_reduce on 2 ranks, 1 chunk, 0 steps, 0 transfers");
  EXPECT_EQ(
      summary_of(
          {.collective = Collective::kBroadcast, .ranks = 2, .root = 1, .steps = {{{TransferKind::kCopy, 0, 1, 0}}}}),
      "broadcast on 2 ranks from 1, 1 chunk, 1 step, 1 transfer");
}

TEST(DrawingWords, WhatIsOutOfRangeIsRefused) {
  EXPECT_THAT([] { require_in_range({.name = "none", .ranks = 0}); },
              testing_support::refuses(ErrorCode::kRefused,
                                       "The schedule 'none' cannot be drawn: a schedule has 1 to 1024 ranks, not 0."));
  EXPECT_NO_THROW(require_in_range({.ranks = 2}));
}

}  // namespace lockstep
