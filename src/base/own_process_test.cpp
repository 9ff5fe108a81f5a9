#include "base/own_process.h"

#include "base/child_for_tests.h"

#include <gtest/gtest.h>

namespace lockstep {

using testing_support::said_in_child;

TEST(OwnProcess, AChildIsAnotherAndSoIsItsChild) {
  const OwnProcess mine;
  EXPECT_TRUE(mine.is_this());
  const auto said = said_in_child([&] {
    const OwnProcess the_childs;
    if (mine.is_this() || !the_childs.is_this()) return "the child is not told apart";
    const auto also_said = said_in_child(
        [&] { return mine.is_this() || the_childs.is_this() ? "its child is not told apart" : "both are"; });
    return also_said == "both are" ? "all are told apart" : "its child is not told apart";
  });
  EXPECT_EQ(said, "all are told apart");
  EXPECT_TRUE(mine.is_this());
}

}  // namespace lockstep
