#include "base/sentence.h"

#include <gtest/gtest.h>

namespace lockstep {

TEST(Sentence, EndsOnce) {
  EXPECT_EQ(with_full_stop("it is late"), "it is late.");
  EXPECT_EQ(with_full_stop("it is late."), "it is late.");
  EXPECT_EQ(with_full_stop("is it late?"), "is it late?");
}

TEST(Sentence, GoesOnWithoutAFullStop) {
  EXPECT_EQ(without_full_stop("it is late."), "it is late");
  EXPECT_EQ(without_full_stop("is it late?"), "is it late?");
  EXPECT_EQ(without_full_stop(""), "");
}

}  // namespace lockstep
