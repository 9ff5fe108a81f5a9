#include "report/writable.h"

#include "base/child_for_tests.h"
#include "base/scratch_folder.h"

#include <gtest/gtest.h>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace lockstep {

namespace fs = std::filesystem;

TEST(Writable, SaysWhatIsInTheWayAndMakesNothing) {
  const ScratchFolder scratch;
  const fs::path& folder = scratch.path();
  EXPECT_FALSE(obstacle_of_folder(folder / "a" / "b")) << "can be made";
  EXPECT_FALSE(obstacle_of_file(folder / "a" / "page.html", folder / "a"));
  EXPECT_EQ(obstacle_of_file(folder / "b" / "page.html", folder / "a"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(obstacle_of_file(folder, folder), std::errc::is_a_directory);
  EXPECT_EQ(obstacle_of_folder("/dev/null/runs"), std::errc::not_a_directory);
  EXPECT_EQ(obstacle_of_file("/dev/null/page.html", "/dev/null"), std::errc::not_a_directory);
  EXPECT_TRUE(fs::is_empty(folder));
  std::ofstream(folder / "file") << "there";
  EXPECT_FALSE(obstacle_of_file(folder / "file", "")) << "can be replaced";
  EXPECT_EQ(obstacle_of_folder(folder / "file" / "runs"), std::errc::not_a_directory);
}

/// Who has no rights but those that files give: root may write everywhere.
bool give_up_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

TEST(Writable, AFileIsReplacedWithinItsFolder) {
  const ScratchFolder scratch;
  const fs::path file = scratch.path() / "file";
  std::ofstream(file) << "there";
  EXPECT_FALSE(obstacle_of_replacing(file, ""));
  fs::permissions(scratch.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto said = [&](const auto& obstacle_of) {
    return testing_support::said_in_child(give_up_capabilities,
                                          [&] { return "obstacle: " + obstacle_of(file, "").message(); });
  };
  EXPECT_EQ(said(obstacle_of_replacing), "obstacle: " + std::make_error_code(std::errc::permission_denied).message());
  EXPECT_EQ(said(obstacle_of_file), "obstacle: " + std::error_code().message()) << "for who writes into it";
  fs::permissions(scratch.path(), fs::perms::owner_all);
}

TEST(Writable, AFolderThatWillBeMadeIsTheSameHoweverItIsWritten) {
  for (const char* made : {"no-such-runs", "no-such-runs/", "./no-such-runs", "no-such/../no-such-runs"}) {
    EXPECT_FALSE(obstacle_of_file("no-such-runs/page.html", made)) << made;
    EXPECT_FALSE(obstacle_of_file(fs::absolute("no-such-runs/page.html"), made)) << made;
    EXPECT_FALSE(obstacle_of_file(fs::path(made) / "page.html", fs::absolute("no-such-runs"))) << made;
  }
  for (const char* made : {"", "no-such", "no-such-runs/b"}) {
    EXPECT_EQ(obstacle_of_file("no-such-runs/page.html", made), std::errc::no_such_file_or_directory) << made;
  }
  EXPECT_FALSE(obstacle_of_file("page.html", "")) << "in the working folder";
}

}  // namespace lockstep
