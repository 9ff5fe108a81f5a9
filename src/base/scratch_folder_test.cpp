#include "base/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

namespace lockstep {

namespace fs = std::filesystem;

TEST(ScratchFolder, IsGoneWithAllThatIsInIt) {
  std::optional<ScratchFolder> folder(std::in_place);
  const fs::path path = folder->path();
  std::ofstream(path / "file") << "x";
  EXPECT_TRUE(fs::exists(path / "file"));
  folder.reset();
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolder, WhereNoneCanBeMadeItSaysWhatToSet) {
  const char* const before = std::getenv("TMPDIR");
  const std::optional<std::string> kept = before == nullptr ? std::nullopt : std::optional<std::string>(before);
  for (const char* const wrong : {"/no/such/folder", "/proc"}) {
    ASSERT_EQ(::setenv("TMPDIR", wrong, 1), 0);
    EXPECT_THAT([] { ScratchFolder(); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("set TMPDIR to a folder that can be written")))
        << wrong;
  }
  kept ? ::setenv("TMPDIR", kept->c_str(), 1) : ::unsetenv("TMPDIR");
}

}  // namespace lockstep
