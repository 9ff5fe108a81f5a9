#include "launch/output.h"

#include "base/error_for_tests.h"
#include "base/scratch_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

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

/// A stack has more frames than lines are kept, and what it is of stands before it.
TEST(Output, KeepsNoFramesOfAStackAmongTheLastLines) {
  const Screen err;
  Output output({.ranks = 1, .descriptors = {1, err.descriptor()}});
  output.add(0, Stream::kErrors, "  what():  wrong sizes\n");
  for (int frame = 0; frame < 30; ++frame) {
    output.add(0, Stream::kErrors, "frame #" + std::to_string(frame) + ": <unknown function>\n");
  }
  output.add(0, Stream::kErrors, "\n");
  EXPECT_THAT(output.last_lines(0), ElementsAre("  what():  wrong sizes"));
  EXPECT_THAT(err.text(), testing::HasSubstr("frame #29")) << "which is shown all the same";
}

TEST(Output, ALogOnAFullDiskIsGivenUpWithASentence) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  const ScratchFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path() / "rank0.log");
  const Screen out;
  const Screen err;
  {
    Output output({.ranks = 1, .descriptors = {out.descriptor(), err.descriptor()}, .log_dir = folder.path()});
    output.add(0, Stream::kOutput, "first\n");
    output.add(0, Stream::kOutput, "second\n");
  }
  EXPECT_EQ(out.text(), "[rank 0] first\n[rank 0] second\n");
  EXPECT_EQ(err.text(), "lockstep: rank 0's log file is written no further: No space left on device.\n");
}

TEST(Output, WhatCannotBeShownIsSaidOnceAndRemembered) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  const Screen err;
  Output output({.ranks = 1, .descriptors = {full.get(), err.descriptor()}});
  EXPECT_FALSE(output.lost());
  output.add(0, Stream::kOutput, "first\n");
  output.add(0, Stream::kOutput, "second\n");
  output.add(0, Stream::kErrors, "problem\n");
  EXPECT_TRUE(output.lost());
  EXPECT_FALSE(output.has_no_reader());
  EXPECT_EQ(err.text(), "lockstep: output is shown no further: No space left on device.\n[rank 0] problem\n");
}

TEST(Output, WhereErrorsCannotBeShownNothingIsLost) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  const Screen out;
  Output output({.ranks = 1, .descriptors = {out.descriptor(), full.get()}});
  output.say("unheard");
  output.add(0, Stream::kOutput, "first\n");
  EXPECT_EQ(out.text(), "[rank 0] first\n");
  EXPECT_FALSE(output.lost());
}

/// A pipe that nobody reads until the test does.
struct UnreadPipe {
  UnreadPipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    reader = FileDescriptor(ends[0]);
    writer = FileDescriptor(ends[1]);
    ::fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  }
  std::string take() const {
    std::string all;
    std::array<char, 65536> some{};
    for (ssize_t got = 0; (got = ::read(reader.get(), some.data(), some.size())) > 0;) {
      all.append(some.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  FileDescriptor reader;
  FileDescriptor writer;
};

/// Where SIGPIPE is ignored nothing else tells.
TEST(Output, NoticesThatItsReaderIsGone) {
  UnreadPipe out;
  const Screen err;
  Output output({.ranks = 1, .descriptors = {out.writer.get(), err.descriptor()}});
  output.add(0, Stream::kOutput, "read\n");
  EXPECT_FALSE(output.has_no_reader());
  out.reader.reset();
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  output.add(0, Stream::kOutput, "unread\n");
  ::signal(SIGPIPE, before);
  EXPECT_TRUE(output.has_no_reader());
  EXPECT_FALSE(output.lost());
  EXPECT_EQ(err.text(), "");
}

/// Rank 0, whose stdout is ours, is about to end of that; the others speak of its death.
TEST(Output, OnceNobodyReadsTheRankThatIsShownAsItIsTheOthersErrorsAreHeldBack) {
  UnreadPipe out;
  const Screen err;
  Output output({.ranks = 2, .descriptors = {out.writer.get(), err.descriptor()}, .bare_rank = 0});
  output.add(1, Stream::kErrors, "before\n");
  out.reader.reset();
  output.add(1, Stream::kErrors, "rank 0 died\n");
  output.add(0, Stream::kErrors, "its own\n");
  EXPECT_EQ(err.text(), "[rank 1] before\nits own\n");
  output.show_held_back();
  EXPECT_EQ(err.text(), "[rank 1] before\nits own\n[rank 1] rank 0 died\n");
  EXPECT_THAT(output.last_lines(1), ElementsAre("before", "rank 0 died"));
}

TEST(Output, WaitsForItsReaderButNotBeyondASignal) {
  const UnreadPipe out;
  const Screen err;
  const FileDescriptor signals(::eventfd(1, EFD_CLOEXEC));  // readable: one has come
  Output output(
      {.ranks = 1, .descriptors = {out.writer.get(), err.descriptor()}, .bare_rank = 0, .interrupts = signals.get()});
  std::string text;  // more than a pipe holds
  for (int line = 0; line < 300; ++line) text += std::string(1000, static_cast<char>('a' + line % 26)) + "\n";
  output.add(0, Stream::kOutput, text);
  output.say("still here");
  EXPECT_EQ(err.text(), "lockstep: still here\n");
  std::vector<pollfd> awaited;
  output.add_awaited(awaited);
  ASSERT_EQ(awaited.size(), 1U);
  EXPECT_EQ(awaited[0].fd, out.writer.get());

  std::string shown;
  while (shown.size() < text.size()) {
    const std::string more = out.take();
    ASSERT_FALSE(more.empty());
    shown += more;
    output.go_on();
  }
  EXPECT_TRUE(shown == text) << "nothing is lost";
  awaited.clear();
  output.add_awaited(awaited);
  EXPECT_TRUE(awaited.empty());
}

TEST(Output, InAHurryItWaitsOnceAndShowsWhatThereIsRoomFor) {
  const UnreadPipe out;
  const Screen err;
  Output output({.ranks = 1, .descriptors = {out.writer.get(), err.descriptor()}, .bare_rank = 0});
  output.hurry();
  for (int i = 0; i < 100; ++i) output.add(0, Stream::kOutput, std::string(10'000, 'x') + "\n");
  const std::string first = out.take();
  EXPECT_GE(first.size(), 4096U);
  output.go_on();
  EXPECT_FALSE(out.take().empty()) << "there was room again";
}

TEST(Output, WhatIsMoreThanItKeepsIsLostAndSaid) {
  const UnreadPipe out;
  const Screen err;
  Output output({.ranks = 1, .descriptors = {out.writer.get(), err.descriptor()}, .bare_rank = 0});
  output.hurry();
  const std::string line = std::string(50'000, 'x') + "\n";
  for (int i = 0; i < 300; ++i) output.add(0, Stream::kOutput, line);
  output.say_what_was_dropped();
  EXPECT_FALSE(output.lost());
  EXPECT_EQ(err.text(), "") << "15 MB it keeps";
  for (int i = 0; i < 110; ++i) output.add(0, Stream::kOutput, line);
  EXPECT_TRUE(output.lost());
  output.say_what_was_dropped();
  EXPECT_THAT(err.text(), testing::MatchesRegex("lockstep: 3\\.[0-9]+ MiB of output was dropped: nobody read what was "
                                                "shown before it, while the job was being ended\\.\n"));
}

TEST(Output, ALogThatCannotBeMadeIsAnError) {
  try {
    const Output output({.ranks = 1, .log_dir = "/proc/no-such-folder"});
    FAIL() << "made a folder in /proc";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("Cannot make the log folder /proc/no-such-folder: "));
  }
}

TEST(Output, ALogThatCannotBeWrittenIsAnError) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "rank1.log");
  EXPECT_THAT([&] { const Output output({.ranks = 2, .log_dir = folder.path()}); },
              testing_support::refuses(
                  ErrorCode::kInvalidArgument,
                  "Cannot write the log file " + (folder.path() / "rank1.log").string() + ": Is a directory."));
}

TEST(Output, ALogThatIsAPipeIsAnErrorAndNotAWait) {
  const ScratchFolder folder;
  const std::string pipe = folder.path() / "rank0.log";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto expect_refusal = [&] {
    EXPECT_THAT([&] { const Output output({.ranks = 1, .log_dir = folder.path()}); },
                testing_support::refuses(ErrorCode::kInvalidArgument, "Cannot write the log file " + pipe +
                                                                          ": it is there and not a file; remove it."));
  };
  expect_refusal();
  const FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  expect_refusal();
}

}  // namespace lockstep
