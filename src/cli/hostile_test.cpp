// `lockstep` where its streams, its files and its system are not as a program expects them.
#include "cli/program_for_tests.h"
#include "tests/processes/small_disk.h"

#include <signal.h>

namespace lockstep {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing_support::on_a_small_disk;
using testing_support::Result;
using testing_support::run_command;

/// `lockstep` with these words of a shell, redirections among them.
Result lockstep_in_shell(const std::string& words) {
  return run_command({"sh", "-c", "exec " LOCKSTEP_PROGRAM " " + words});
}

}  // namespace

class CliHostile : public testing_support::TemporaryFolder {};

TEST(CliStreams, ResultsThatNobodyTakesAreAnError) {
  const auto expect_error = [](const std::string& words, const std::string& why) {
    SCOPED_TRACE(words);
    const Result result = lockstep_in_shell(words);
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.errors, HasSubstr("lockstep: The output could not be written: " + why + ".\n"));
  };
  for (const std::string words : {"show ring -n 4", "--help", "--version", "train --help"}) {
    expect_error(words + " >&-", "Bad file descriptor");
    expect_error(words + " <&- >&-", "Bad file descriptor");
    expect_error(words + " >/dev/full", "No space left on device");
  }
  for (const char* ranks : {"1", "2"}) {
    expect_error(std::string("bench all_reduce --max-bytes 16 --min-time 5ms -n ") + ranks + " >&-",
                 "Bad file descriptor");
  }
}

TEST_F(CliHostile, AnErrorThatNobodyCanReadIsItsExitCode) {
  const std::string refused = write("refused.txt",
                                    "lockstep-schedule 1\nname twice\ncollective all_reduce\nranks 2\nchunks 1\n"
                                    "root 0\nstep\nreduce 0 from 1 to 0\nstep\nreduce 0 from 1 to 0\nend\n",
                                    kPlainFile);
  for (const std::string where : {" 2>&-", " 2>/dev/full", " <&- 2>&-"}) {
    const auto code_of = [&](const std::string& words) {
      SCOPED_TRACE(words + where);
      const Result result = lockstep_in_shell(words + where);
      EXPECT_THAT(result.output, IsEmpty());
      return result.code;
    };
    EXPECT_EQ(code_of(""), 2);
    EXPECT_EQ(code_of("--bogus"), 2);
    EXPECT_EQ(code_of("show rring -n 4"), 2);
    EXPECT_EQ(code_of("bench all_reduce -n 0"), 2);
    EXPECT_EQ(code_of("run /no/such/program"), 2);
    EXPECT_EQ(code_of("run -n 2 false"), 1);
    EXPECT_EQ(code_of("prove " + refused), 1);
    EXPECT_EQ(code_of("show " + refused + " --format schedule -o " + (folder_ / "shown").string()), 1);
  }
}

TEST_F(CliHostile, AFileBeyondTheLimitIsAnErrorAndLeavesNothing) {
  const std::string file = folder_ / "ring.txt";
  const Result result =
      run_command({"sh", "-c", "ulimit -f 2; exec " LOCKSTEP_PROGRAM " show ring -n 64 -o \"$0\"", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.errors, AllOf(StartsWith("lockstep: Writing "), HasSubstr(" failed: File too large.\n")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(CliHostile, TheLimitOfFilesIsToRanksWhatItIsToAnyProgram) {
  const Result result = run_command({"sh", "-c",
                                     "ulimit -f 16; exec " LOCKSTEP_PROGRAM
                                     " run -n 1 sh -c 'exec head -c 100000 /dev/zero > \"$0\"' \"$0\"",
                                     folder_ / "zeros"});
  EXPECT_EQ(result.code, 128 + SIGXFSZ);
  EXPECT_THAT(result.errors, HasSubstr("It wrote a file larger than allowed (see `ulimit -f`)."));
}

TEST(CliUsage, WordsBehindTwoDashesAreNoOptions) {
  expect_usage_error({"show", "--", "ring", "-n", "4"}, "The following arguments were not expected: ");
  expect_usage_error({"show", "--formt", "--", "ring"}, "no option --formt. Did you mean '--format'?");
  expect_usage_error({"show", "--"}, "as in: lockstep show ring -n 4");
}

TEST_F(CliHostile, ACalibrationThatCannotBeStoredIsNotMeasured) {
  std::filesystem::create_directories(folder_ / "lockstep" / "calibration.json");
  const Result result = lockstep_with({"calibrate", "--fast", "-n", "2"}, {"XDG_CACHE_HOME=" + folder_.string()});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.errors, "lockstep: The calibration would be stored in " +
                               (folder_ / "lockstep" / "calibration.json").string() +
                               ", which is there and not a file; remove it, or set XDG_CACHE_HOME.\n");
}

TEST(CliSystem, WithoutProcWhatStartsThisProgramAgainSaysSo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"bench", "all_reduce", "-n", "2"}, {"lab", "buckets"}, {"train", "text"}}) {
    std::vector<std::string> command = words;
    command.insert(command.begin(), LOCKSTEP_PROGRAM);
    const Result result = run_command(on_a_small_disk("/proc", "1m", "exec \"$@\"", command));
    if (result.code == testing_support::kNoSmallDisk) GTEST_SKIP() << testing_support::kWhyNoSmallDisk;
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(
        result.errors,
        "lockstep: Which program this is, to start it again, is not to be seen: reading /proc/self/exe failed: No "
        "such file or directory. Mount /proc, as in: mount -t proc proc /proc\n")
        << words.front();
  }
}

}  // namespace lockstep
