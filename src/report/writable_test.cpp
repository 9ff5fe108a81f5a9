#include "report/writable.h"

#include "base/child_for_tests.h"
#include "base/scratch_folder.h"

#include <gtest/gtest.h>

#include <unistd.h>

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

TEST(Writable, AFileIsReplacedWithinItsFolder) {
  const ScratchFolder scratch;
  const fs::path file = scratch.path() / "file";
  std::ofstream(file) << "there";
  fs::permissions(file, fs::perms::all);
  fs::permissions(scratch.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  constexpr uid_t kNobody = 65534;
  const auto said = testing_support::said_in_child([] { return ::setuid(kNobody) == 0; },
                                                   [&] { return obstacle_of_file(file, "").message(); });
  if (!said) GTEST_SKIP() << "only root may become somebody else, who may not write here";
  EXPECT_EQ(*said, std::make_error_code(std::errc::permission_denied).message());
  EXPECT_FALSE(obstacle_of_file(file, "")) << "for who may";
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
