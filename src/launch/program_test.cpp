#include "launch/program.h"

#include "base/error_for_tests.h"
#include "base/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

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
  EXPECT_EQ(refusal("lockstep-no-such-program"),
            "There is no program 'lockstep-no-such-program' in PATH; check its name, or give its path.");
  EXPECT_THAT(refusal("/no/such/program"), HasSubstr("No such file"));
  EXPECT_THAT(refusal("/"), HasSubstr("folder"));
  EXPECT_THAT(refusal("/etc/passwd"), HasSubstr("chmod +x /etc/passwd"));
}

TEST(Program, OfOneThatLiesHereItsPathIsSaid) {
  const ScratchFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::ofstream(folder.path() / "lockstep-lies-here") << "a program\n";
  std::filesystem::current_path(folder.path());
  EXPECT_THAT([] { find_program("lockstep-lies-here"); },
              testing_support::refuses(ErrorCode::kInvalidArgument,
                                       "There is no program 'lockstep-lies-here' in PATH; for the file here, say "
                                       "./lockstep-lies-here."));
  std::filesystem::current_path(before);
}

TEST(Program, ExecsErrnoBecomesASentence) {
  EXPECT_THAT(explain_exec_failure("/bin/x", ENOEXEC), HasSubstr("#!"));
  EXPECT_THAT(explain_exec_failure("/bin/x", ENOENT), HasSubstr("interpreter"));
  EXPECT_THAT(explain_exec_failure("/bin/x", E2BIG), HasSubstr("too long"));
  EXPECT_EQ(explain_exec_failure("/bin/x", EACCES), "Cannot run /bin/x: Permission denied.");
}

}  // namespace lockstep
