#include "launch/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lockstep {

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Stands in for our stdout and stderr.
class Screen {
 public:
  Screen() : file_(::memfd_create("lockstep-screen", MFD_CLOEXEC)) {}
  int descriptor() const { return file_.get(); }
  std::string text() const {
    std::string text(1 << 20, '\0');
    text.resize(static_cast<std::size_t>(::pread(file_.get(), text.data(), text.size(), 0)));
    return text;
  }

 private:
  FileDescriptor file_;
};

}  // namespace

TEST(Output, EachStreamGoesToItsOwnWithTheRankBeforeEachLine) {
  const Screen out;
  const Screen err;
  Output output({.ranks = 2, .descriptors = {out.descriptor(), err.descriptor()}});
  output.add(0, Stream::kOutput, "one\ntw");
  output.add(1, Stream::kOutput, "other\n");
  output.add(0, Stream::kErrors, "problem\n");
  output.add(0, Stream::kOutput, "o\nhalf");
  output.finish(0, Stream::kOutput);
  EXPECT_EQ(out.text(), "[rank 0] one\n[rank 1] other\n[rank 0] two\n[rank 0] half\n");
  EXPECT_EQ(err.text(), "[rank 0] problem\n");
  EXPECT_THAT(output.last_lines(0), ElementsAre("one", "problem", "two", "half"));
}

TEST(Output, ColourEndsWithTheLineThatBeganIt) {
  const Screen out;
  Output output({.ranks = 2, .descriptors = {out.descriptor(), 2}, .colour = {true, true}});
  output.add(0, Stream::kOutput, "plain\n\x1b[31mred\n");
  output.add(1, Stream::kOutput, "plain\n");
  EXPECT_EQ(out.text(),
            "\x1b[36m[rank 0]\x1b[0m plain\n\x1b[36m[rank 0]\x1b[0m \x1b[31mred\x1b[0m\n"
            "\x1b[33m[rank 1]\x1b[0m plain\n");
}

TEST(Output, AProgressBarIsShownNowAndThenAndAtItsEnd) {
  const Screen out;
  Output output({.ranks = 1, .descriptors = {out.descriptor(), 2}});
  for (int percent = 0; percent < 100; ++percent) output.add(0, Stream::kOutput, std::to_string(percent) + "%\r");
  output.add(0, Stream::kOutput, "100%\n");
  const std::string text = out.text();
  EXPECT_THAT(text, testing::StartsWith("[rank 0] 0%\n"));
  EXPECT_THAT(text, testing::EndsWith("[rank 0] 100%\n"));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 50);
  EXPECT_THAT(output.last_lines(0), ElementsAre("100%"));
}

TEST(Output, BesideABarLinesBeginByErasingIt) {
  const Screen out;
  const Screen err;
  Output output(
      {.ranks = 2, .descriptors = {out.descriptor(), err.descriptor()}, .bare_rank = 0, .beside_a_bar = {true, true}});
  output.add(0, Stream::kErrors, "bare\n");
  output.add(1, Stream::kErrors, "other\n");
  output.say("ours");
  output.clear_bar();
  EXPECT_EQ(out.text(), "\r\x1b[K");
  EXPECT_EQ(err.text(), "\r\x1b[Kbare\n\r\x1b[K[rank 1] other\n\r\x1b[Klockstep: ours\n");
}

TEST(Output, KeepsAFewLastLinesAndOfEachItsBeginning) {
  const Screen out;
  Output output({.ranks = 1, .descriptors = {out.descriptor(), 2}});
  for (int line = 0; line < 100; ++line)
    output.add(0, Stream::kOutput, std::to_string(line) + std::string(10000, 'x') + "\n");
  const auto last = output.last_lines(0);
  ASSERT_EQ(last.size(), Output::kLastLines);
  EXPECT_THAT(last.back(), testing::StartsWith("99x"));
  EXPECT_LT(last.back().size(), 1000U);
}

TEST(Output, ALogOnAFullDiskIsGivenUpWithASentence) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full) GTEST_SKIP() << "/dev/full is not there";
  std::string folder = ::testing::TempDir() + "lockstep-output-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::filesystem::create_symlink("/dev/full", folder + "/rank0.log");
  const Screen out;
  const Screen err;
  {
    Output output({.ranks = 1, .descriptors = {out.descriptor(), err.descriptor()}, .log_dir = folder});
    output.add(0, Stream::kOutput, "first\n");
    output.add(0, Stream::kOutput, "second\n");
  }
  std::filesystem::remove_all(folder);
  EXPECT_EQ(out.text(), "[rank 0] first\n[rank 0] second\n");
  EXPECT_EQ(err.text(), "lockstep: rank 0's log file is written no further: No space left on device.\n");
}

TEST(Output, ALogThatCannotBeMadeIsAnError) {
  try {
    const Output output({.ranks = 1, .log_dir = "/proc/no-such-folder"});
    FAIL() << "made a folder in /proc";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("/proc/no-such-folder"));
  }
}

}  // namespace lockstep
