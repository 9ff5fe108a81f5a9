#include "launch/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cerrno>

namespace lockstep {

using testing::HasSubstr;

TEST(Program, IsFoundAlongPathAndByItsPath) {
  const std::string found = find_program("sh");
  EXPECT_THAT(found, testing::EndsWith("/sh"));
  EXPECT_EQ(find_program(found), found);
  EXPECT_EQ(find_in_path("lockstep-no-such-program"), std::nullopt);
}

TEST(Program, WhatCannotRunIsExplained) {
  const auto refusal = [](const std::string& name) -> std::string {
    try {
      return "found " + find_program(name);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.what();
    }
  };
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("lockstep-no-such-program"), HasSubstr("in PATH"));
  EXPECT_THAT(refusal("/no/such/program"), HasSubstr("No such file"));
  EXPECT_THAT(refusal("/"), HasSubstr("folder"));
  EXPECT_THAT(refusal("/etc/passwd"), HasSubstr("chmod +x /etc/passwd"));
}

TEST(Program, ExecsErrnoBecomesASentence) {
  EXPECT_THAT(explain_exec_failure("/bin/x", ENOEXEC), HasSubstr("#!"));
  EXPECT_THAT(explain_exec_failure("/bin/x", ENOENT), HasSubstr("interpreter"));
  EXPECT_THAT(explain_exec_failure("/bin/x", E2BIG), HasSubstr("too long"));
  EXPECT_EQ(explain_exec_failure("/bin/x", EACCES), "Cannot run /bin/x: Permission denied.");
}

}  // namespace lockstep
