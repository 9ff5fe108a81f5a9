#include "report/writable.h"

#include "base/scratch_folder.h"

#include <gtest/gtest.h>

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
