#include "bench/parts.h"

#include "base/error_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep::bench {

using testing::ElementsAre;
using testing_support::refuses;

TEST(Parts, AreNeighboursOrDealtOut) {
  EXPECT_THAT(groups_of({.groups = 1}, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(groups_of({.groups = 2}, 6), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(groups_of({.groups = 2, .interleaved = true}, 6), ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(Parts, HaveAsManyRanksEach) {
  EXPECT_THAT([] { (void)groups_of({.groups = 2}, 3); },
              refuses(ErrorCode::kInvalidArgument,
                      "--groups says 2, and 3 ranks cannot be split into so many groups of as many each."));
  EXPECT_THAT([] { (void)groups_of({.groups = 0}, 3); }, refuses(ErrorCode::kInvalidArgument, "--groups says 0"));
}

TEST(Parts, AreAlikeInWhoSharesAHost) {
  EXPECT_NO_THROW(require_alike({.groups = 2}, {0, 0, 1, 1}));
  EXPECT_NO_THROW(require_alike({.groups = 2, .interleaved = true}, {0, 0, 1, 1}));
  EXPECT_THAT(
      [] {
        require_alike({.groups = 2}, {0, 0, 0, 1});
      },
      refuses(ErrorCode::kInvalidArgument,
              "--groups 2: ranks of group 1 share hosts otherwise than those of group 0."));
}

}  // namespace lockstep::bench
