#pragma once

#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {

/// `lockstep` with these words, run to its end.
inline testing_support::Result lockstep_with(std::vector<std::string> arguments,
                                             std::vector<std::string> environment = {}) {
  arguments.insert(arguments.begin(), LOCKSTEP_PROGRAM);
  return testing_support::run_command(arguments, {.environment = std::move(environment)});
}

/// One line that says `words`, nothing on stdout, and the code of bad usage.
inline void expect_usage_error(const std::vector<std::string>& arguments, const std::string& words) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  const testing_support::Result result = lockstep_with(arguments);
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.output, testing::IsEmpty());
  EXPECT_THAT(result.errors, testing::AllOf(testing::StartsWith("lockstep: "), testing::HasSubstr(words)));
  EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1) << result.errors;
}

constexpr auto kPlainFile = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

}  // namespace lockstep
