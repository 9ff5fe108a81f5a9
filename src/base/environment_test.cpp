#include "base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cstdlib>

namespace lockstep {

TEST(Environment, UnsetAndEmptyAreNone) {
  ::unsetenv("LOCKSTEP_TEST_VARIABLE");
  EXPECT_EQ(environment("LOCKSTEP_TEST_VARIABLE"), std::nullopt);
  ::setenv("LOCKSTEP_TEST_VARIABLE", "", 1);
  EXPECT_EQ(environment("LOCKSTEP_TEST_VARIABLE"), std::nullopt);
}

TEST(Environment, AWrongNumberIsNamed) {
  try {
    whole_number("LOCKSTEP_TEST_VARIABLE", "four");
    FAIL() << "accepted 'four'";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("LOCKSTEP_TEST_VARIABLE is 'four'"));
  }
}

TEST(Environment, DurationsHaveAFallback) {
  ::unsetenv("LOCKSTEP_TEST_VARIABLE");
  EXPECT_EQ(environment_duration("LOCKSTEP_TEST_VARIABLE", std::chrono::seconds(3)).count(), 3000);
  ::setenv("LOCKSTEP_TEST_VARIABLE", "250ms", 1);
  EXPECT_EQ(environment_duration("LOCKSTEP_TEST_VARIABLE", std::chrono::seconds(3)).count(), 250);
  for (const char* refused : {"soon", "0s", "500us"}) {
    ::setenv("LOCKSTEP_TEST_VARIABLE", refused, 1);
    EXPECT_THROW(environment_duration("LOCKSTEP_TEST_VARIABLE", std::chrono::seconds(3)), Error) << refused;
  }
}

}  // namespace lockstep
