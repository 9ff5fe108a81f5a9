#include "lab/text/data.h"

#include "lab/folder_for_tests.h"
#include "lab/refusal_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace lockstep::lab {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class TextFiles : public FolderTest {};

TEST_F(TextFiles, AreJoinedInTheOrderGiven) {
  write_file_atomically(folder_ / "a", "first ");
  write_file_atomically(folder_ / "b", "second");
  EXPECT_EQ(read_text({folder_ / "b", folder_ / "a"}), "secondfirst ");
}

TEST_F(TextFiles, OfAFolderAreSortedWithoutLinks) {
  write_file_atomically(folder_ / "z", "last");
  write_file_atomically(folder_ / "a", "first ");
  fs::create_symlink("a", folder_ / "link");
  fs::create_directory(folder_ / "nested");
  EXPECT_EQ(read_text({folder_}), "first last");
}

TEST_F(TextFiles, ThatCannotServeAreNamed) {
  EXPECT_THAT(refusal_of([&] { read_text({folder_ / "nothing"}); }), HasSubstr("There is no file"));
  EXPECT_THAT(refusal_of([&] { read_text({folder_}); }), HasSubstr("holds no files"));
  write_file_atomically(folder_ / "empty", "");
  EXPECT_THAT(refusal_of([&] { read_text({folder_ / "empty"}); }), HasSubstr("is empty"));
}

TEST_F(TextFiles, TooShortForAContextAreRefused) {
  const std::vector<std::int32_t> tokens(80);
  EXPECT_EQ(TextData(tokens, 7).validation.size(), 8U) << "one window and the token that follows";
  EXPECT_THAT(refusal_of([&] { TextData(tokens, 8); }), HasSubstr("too short"));
}

TEST(TextData, KeepsTheLastTenthForValidation) {
  std::vector<std::int32_t> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  const TextData data(tokens, 4);
  EXPECT_EQ(data.training.size(), 90U);
  EXPECT_EQ(data.training.back(), 89);
  EXPECT_EQ(data.validation.front(), 90);
  EXPECT_EQ(data.validation.back(), 99);
}

TEST(TextData, TargetsAreTheNextTokens) {
  std::vector<std::int32_t> tokens(20);
  std::iota(tokens.begin(), tokens.end(), 0);
  const TextBatch batch = windows_at(tokens, {3, 16}, 3);
  EXPECT_TRUE(torch::equal(batch.tokens, torch::tensor({3, 4, 5, 16, 17, 18}, torch::kInt64).view({2, 3})));
  EXPECT_TRUE(torch::equal(batch.targets, torch::tensor({4, 5, 6, 17, 18, 19}, torch::kInt64).view({2, 3})));
}

TEST(TextData, AnEmptyShareStillGivesTheModelAWindow) {
  EXPECT_EQ(windows_at(std::vector<std::int32_t>(10), {}, 3).tokens.size(0), 1);
}

TEST(TextData, SlicesCoverTheBatchOnceForAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (std::int64_t m = 0; m <= 13; ++m) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(slice_of(m, rank, ranks).begin, next);
        next = slice_of(m, rank, ranks).end;
      }
      EXPECT_EQ(next, m);
    }
  }
}

TEST(TextData, BatchesDependOnSeedAndIteration) {
  const auto starts = random_starts(1, 2, 12, 1000);
  EXPECT_EQ(starts.size(), 12U);
  EXPECT_EQ(starts, random_starts(1, 2, 12, 1000));
  EXPECT_NE(starts, random_starts(1, 3, 12, 1000));
  EXPECT_NE(starts, random_starts(2, 2, 12, 1000));
  EXPECT_THAT(starts, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(1000))));
}

TEST(TextData, EvaluationWindowsAreEvenAndDoNotOverlap) {
  EXPECT_THAT(even_starts(0, 21, 5), ElementsAre(0, 5, 10, 15)) << "all that fit, each with a token after it";
  EXPECT_THAT(even_starts(2, 21, 5), ElementsAre(0, 10));
  EXPECT_THAT(even_starts(9, 20, 5), ElementsAre(0, 5, 10));
}

}  // namespace lockstep::lab
