#include "tests/cost/formula.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace lockstep::cost {

TEST(Formula, FollowsTheRulesOfArithmetic) {
  const Variables variables{{"p", 8}, {"alpha", 0.5}};
  EXPECT_DOUBLE_EQ(evaluate("2*(p-1)*alpha + 1", variables), 8);
  EXPECT_DOUBLE_EQ(evaluate("p - 1 - 2", variables), 5);
  EXPECT_DOUBLE_EQ(evaluate("p / 2 / 2", variables), 2);
  EXPECT_DOUBLE_EQ(evaluate("2*p^2", variables), 128);
  EXPECT_DOUBLE_EQ(evaluate("ceil(log2(p + 1)) + min(p, 3) + max(1, 2.5)", variables), 9.5);
}

TEST(Formula, RefusesWhatIsNone) {
  for (const char* text : {"", "1 +", "(1", "q", "sin(1)", "1 2", "min(1)", "max(1, 2"}) {
    EXPECT_THROW(evaluate(text, {}), std::runtime_error) << text;
  }
}

}  // namespace lockstep::cost
