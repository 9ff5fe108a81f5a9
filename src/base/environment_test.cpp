#include "base/environment.h"

#include "base/error_for_tests.h"

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
  const auto expect_refused = [](const char* value, const std::string& words) {
    ::setenv("LOCKSTEP_TEST_VARIABLE", value, 1);
    EXPECT_THAT([] { environment_duration("LOCKSTEP_TEST_VARIABLE", std::chrono::seconds(3)); },
                testing_support::refuses(ErrorCode::kInvalidArgument,
                                         "The environment variable LOCKSTEP_TEST_VARIABLE" + words));
  };
  expect_refused("soon", ": 'soon' is not a time; write it like 5us, 2ms or 10s.");
  expect_refused("0s", " is '0s'; it takes a millisecond or more.");
  expect_refused("500us", " is '500us'; it takes a millisecond or more.");
  ::unsetenv("LOCKSTEP_TEST_VARIABLE");
}

}  // namespace lockstep
