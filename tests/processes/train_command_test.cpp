// `lockstep train` as far as it is the launcher's: which program it starts, with how many ranks and which arguments.
// The training itself is played by a script beside a copy of the program.
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::Command;
using testing_support::Result;
using testing_support::run_command;

namespace fs = std::filesystem;

class TrainCommand : public testing_support::TemporaryFolder {
 protected:
  TrainCommand() { fs::copy_file(LOCKSTEP_PROGRAM, folder_ / "lockstep"); }

  void play(const std::string& script) { write("lockstep-train", "#!/bin/sh\n" + script, fs::perms::owner_all); }

  Result train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {folder_ / "lockstep", "train"});
    return run_command(arguments, {.environment = {"PATH=/usr/bin:/bin"}});
  }
};

TEST_F(TrainCommand, StartsRanksAndPassesAllElseOn) {
  play("echo $RANK of $WORLD_SIZE: $@");
  const Result result = train({"text", "--iterations", "5", "-n", "2", "--prompt", "[a,b]", "--log-sync"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("[rank 1] 1 of 2: text --iterations 5 --prompt [a,b] --log-sync\n"));
  EXPECT_THAT("\n" + result.output, HasSubstr("\n0 of 2: text --iterations 5 --prompt [a,b] --log-sync\n"));
}

TEST_F(TrainCommand, IsOneRankUnlessTold) {
  play("echo $WORLD_SIZE; echo bare >&2");
  const Result result = train({"text"});
  EXPECT_EQ(result.output, "1\n");
  EXPECT_EQ(result.errors, "bare\n");
}

TEST_F(TrainCommand, WrongInputIsSaidByTheTrainingAlone) {
  play("test $RANK = 0 && echo no such file >&2; exit 2");
  const Result result = train({"text", "-n", "2"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.errors, "no such file\n");
}

/// Which it may be of another pipe than its output.
TEST_F(TrainCommand, OfAClosedPipeItIsAFailureWhereItsOutputIsRead) {
  play("test $RANK = 0 && kill -PIPE $$; exec sleep 1000");
  const Result result = train({"text", "-n", "2"});
  EXPECT_EQ(result.code, 128 + SIGPIPE);
  EXPECT_THAT(result.errors, HasSubstr("rank 0 failed first"));
}

TEST_F(TrainCommand, AFailureHasItsScreen) {
  play("test $RANK = 1 && exit 4; exec sleep 1000");
  const Result result = train({"text", "-n", "2"});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.errors, HasSubstr("rank 1 failed first"));
}

TEST_F(TrainCommand, ItsHelpIsShownOnce) {
  play("echo help of $@");
  const Result result = train({"text", "-n", "4", "--help"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("help of text --help\n"), HasSubstr("-n N")));
}

TEST_F(TrainCommand, WithoutLibtorchItSaysSo) {
  const Result result = train({"text"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.output, IsEmpty());
  EXPECT_THAT(result.errors, HasSubstr("built without libtorch"));
}

TEST_F(TrainCommand, BadUsageExits2) {
  play("echo started");
  const auto refusal = [&](const std::vector<std::string>& arguments) {
    const Result result = train(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.output, IsEmpty());
    return result.errors;
  };
  EXPECT_THAT(refusal({}), HasSubstr("lockstep train text"));
  EXPECT_THAT(refusal({"--iterations", "5"}), HasSubstr("lockstep train text"));
  EXPECT_THAT(refusal({"tekst"}), HasSubstr("Did you mean 'text'?"));
  EXPECT_THAT(refusal({"text", "-n", "0"}), HasSubstr("'0'"));
}

}  // namespace lockstep
