#include "base/nearest.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Nearest, FindsTheMisspeltWord) {
  EXPECT_EQ(nearest("rnig", {"direct", "ring", "tree"}), "ring");
  EXPECT_EQ(nearest("all-reduce", {"all_reduce", "broadcast"}), "all_reduce");
}

TEST(Nearest, OffersNothingForAStrangeWord) {
  EXPECT_EQ(nearest("xylophone", {"direct", "ring", "tree"}), "");
  EXPECT_EQ(suggestion("xylophone", {"direct", "ring"}), "Known: direct, ring.");
}

}  // namespace lockstep
