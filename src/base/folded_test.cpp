#include "base/folded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

TEST(Folded, LinesHoldWholeWordsAndNoMoreThanFit) {
  EXPECT_THAT(folded("to be or not", 5), testing::ElementsAre("to be", "or", "not"));
  EXPECT_THAT(folded("to be or not", 12), testing::ElementsAre("to be or not"));
  EXPECT_THAT(folded("a hierarchical one", 6), testing::ElementsAre("a", "hierarchical", "one"));
  EXPECT_THAT(folded("", 5), testing::IsEmpty());
}

TEST(Folded, LinesAfterTheFirstAreIndentedAndNotLonger) {
  EXPECT_EQ(folded("to be or not", 7, "  "), "to be\n  or\n  not");
  EXPECT_EQ(folded("to", 7, "  "), "to");
}

}  // namespace lockstep
