#include "schedule/drawing_words.h"

#include "base/error_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <utility>

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

TEST(DrawingWords, WhatStandsInCellsIsExplained) {
  const Schedule gathers{.ranks = 2, .steps = {{{TransferKind::kCopy, 0, 1, 0}}}};
  Schedule sums = gathers;
  sums.steps[0][0].kind = TransferKind::kReduce;
  EXPECT_EQ(explanation_of_cells(gathers, {}), "a1 is rank 0's part of chunk 0, b1 rank 1's");
  EXPECT_EQ(explanation_of_cells(sums, {}), "a1 is rank 0's part of chunk 0, b1 rank 1's, a1+b1 their sum");
  EXPECT_EQ(explanation_of_cells({.ranks = 1}, {}), "a1 is rank 0's part of chunk 0");
  EXPECT_EQ(explanation_of_cells({.ranks = 6}, {.has_runs = true, .has_counts = true}),
            "a1 is rank 0's part of chunk 0, b1 rank 1's; a-d sums all from a to d; 4/6 is four of six");
  sums.ranks = 27;
  EXPECT_EQ(explanation_of_cells(sums, {.has_runs = true}),
            "0 is what rank 0 has at the start, 0+1 the sum with rank 1's; 0-3 sums all from 0 to 3");
}

TEST(DrawingWords, ExplainsOnlyWhatThereIs) {
  EXPECT_EQ(explanation_of_cells({.collective = Collective::kBroadcast, .ranks = 4, .chunks = 4, .root = 2}, {}),
            "c1 is rank 2's part of chunk 0");
  EXPECT_EQ(explanation_of_cells({.collective = Collective::kAllGather, .ranks = 4, .chunks = 4}, {}),
            "a1 is rank 0's part of chunk 0");
  EXPECT_EQ(explanation_of_cells({.collective = Collective::kScatter, .ranks = 27, .chunks = 27, .root = 26}, {}),
            "26 is what rank 26 has at the start");
  EXPECT_EQ(explanation_of_cells({.ranks = 3}, {.has_runs = true}),
            "a1 is rank 0's part of chunk 0, b1 rank 1's; a-c sums all from a to c");
}

TEST(DrawingWords, SummariesNameTheRootWhereThereIsOne) {
  EXPECT_EQ(summary_of({.ranks = 2}), "all_reduce on 2 ranks, 1 chunk, 0 steps, 0 transfers");
  EXPECT_EQ(
      summary_of(
          {.collective = Collective::kBroadcast, .ranks = 2, .root = 1, .steps = {{{TransferKind::kCopy, 0, 1, 0}}}}),
      "broadcast on 2 ranks from 1, 1 chunk, 1 step, 1 transfer");
  for (const auto& [collective, root] : {std::pair(Collective::kScatter, "scatter on 2 ranks from 1,"),
                                         std::pair(Collective::kGather, "gather on 2 ranks to 1,"),
                                         std::pair(Collective::kReduce, "reduce on 2 ranks to 1,")}) {
    EXPECT_TRUE(summary_of({.collective = collective, .ranks = 2, .root = 1}).starts_with(root)) << root;
  }
}

TEST(DrawingWords, WhatIsOutOfRangeIsRefused) {
  EXPECT_THAT([] { require_in_range({.name = "none", .ranks = 0}); },
              testing_support::refuses(ErrorCode::kRefused,
                                       "The schedule 'none' cannot be drawn: a schedule has 1 to 1024 ranks, not 0."));
  EXPECT_NO_THROW(require_in_range({.ranks = 2}));
}

}  // namespace lockstep
