// How a job of `lockstep run` ends: failures, signals, and that nothing is left behind.
#include "tests/processes/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::Command;
using testing_support::eventually;
using testing_support::is_alive;
using testing_support::numbers_after;

namespace {

/// `lockstep run [options] sh -c script`
std::vector<std::string> shell(std::vector<std::string> options, const std::string& script) {
  options.insert(options.begin(), {LOCKSTEP_PROGRAM, "run"});
  options.insert(options.end(), {"sh", "-c", script});
  return options;
}

bool printed_pids(const Command& command, std::size_t count) {
  return eventually([&] { return numbers_after("pid", command.output()).size() >= count; });
}

void expect_all_gone(const Command& command) {
  for (const int pid : numbers_after("pid", command.output())) {
    EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << "process " << pid << " is left";
  }
}

// Each rank is a shell with a child, and both say their number.
constexpr const char* kShellAndChild = "echo pid $$; sh -c 'echo pid $$; exec sleep 1000'; true";

}  // namespace

TEST(RunEnds, WithTheCodeOfTheFirstFailingRank) {
  Command command(
      shell({"-n", "3"}, "test $RANK = 1 && { echo my last words >&2; exit 7; }; echo pid $$; exec sleep 1000"));
  EXPECT_EQ(command.wait(), 7);
  EXPECT_THAT(command.errors(),
              AllOf(HasSubstr("rank 1 failed first: it exited with code 7,"), HasSubstr("last lines my last words\n"),
                    HasSubstr("ranks 0, 2 stopped by lockstep")));
  expect_all_gone(command);
}

/// Or it would not see that it is to end, and be killed once its time is over.
TEST(RunEnds, OneThatIsSuspendedIsWokenToEnd) {
  Command command(shell({"-n", "2", "--grace", "20s"}, "test $RANK = 1 && { sleep 0.3; exit 3; }; kill -STOP $$"));
  EXPECT_EQ(command.wait(), 3);
  EXPECT_THAT(command.errors(), HasSubstr("rank 0 stopped by lockstep"));
}

/// Its reader is a program that reads nothing; without an answer to the signal it would end by SIGPIPE, later.
TEST(RunEnds, BySignalThoughNobodyReadsItsOutput) {
  Command command({"sh", "-c",
                   std::string("(") + LOCKSTEP_PROGRAM +
                       " run -n 1 --grace 1s yes & job=$!; sleep 0.5; kill -TERM $job; wait $job; echo ended $? >&2) | "
                       "sleep 10"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.errors(), HasSubstr("ended 143\n"));
}

TEST(RunEnds, With128AndTheSignalAndItsName) {
  Command command(shell({"-n", "2"}, "test $RANK = 0 && kill -SEGV $$; exec sleep 1000"));
  EXPECT_EQ(command.wait(), 128 + SIGSEGV);
  EXPECT_THAT(command.errors(), HasSubstr("rank 0 failed first: it was ended by SIGSEGV (Segmentation fault)"));
}

TEST(RunEnds, AKillFromOutsideHintsAtMemory) {
  Command command(shell({"-n", "1"}, "kill -KILL $$"));
  EXPECT_EQ(command.wait(), 128 + SIGKILL);
  EXPECT_THAT(command.errors(), AllOf(HasSubstr("SIGKILL (Killed)"), HasSubstr("out of memory")));
}

TEST(RunEnds, WhoHadFinishedAndWhoFollowedIsTold) {
  Command command(
      shell({"-n", "3"},
            "case $RANK in 0) exit 0;; 1) sleep 0.3; exit 3;; 2) sleep 0.4; echo lost rank 1 >&2; exit 4;; esac"));
  EXPECT_EQ(command.wait(), 3);
  EXPECT_THAT(command.errors(), AllOf(HasSubstr("rank 0 had finished"), HasSubstr("rank 2 exited with code 4"),
                                      HasSubstr("s later: lost rank 1")));
}

TEST(RunEnds, OneThatIgnoresTermIsKilledAfterTheGrace) {
  Command command(
      shell({"-n", "2", "--grace", "200ms"},
            "trap '' TERM; echo pid $$; test $RANK = 1 && { sleep 0.5; exit 5; }; while :; do sleep 1; done"));
  EXPECT_EQ(command.wait(), 5);
  EXPECT_THAT(command.errors(), HasSubstr("rank 0 did not end within 0.2 s of SIGTERM: killed"));
  expect_all_gone(command);
}

TEST(RunEnds, OneThatAnswersTermHasItsGrace) {
  Command command(shell({"-n", "2", "--grace", "60s"},
                        "trap 'echo saved; exit 0' TERM; echo ready; test $RANK = 1 && { sleep 0.5; exit 5; }; "
                        "while :; do sleep 0.1; done"));
  EXPECT_EQ(command.wait(), 5);
  EXPECT_THAT(command.output(), HasSubstr("[rank 0] saved\n"));
  EXPECT_THAT(command.errors(), HasSubstr("rank 0 stopped by lockstep"));
}

class RunEndsBySignal : public testing::TestWithParam<int> {};

TEST_P(RunEndsBySignal, AndLeavesNoProcess) {
  Command command(shell({"-n", "2"}, kShellAndChild));
  ASSERT_TRUE(printed_pids(command, 4));
  command.send(GetParam());
  EXPECT_EQ(command.wait(), 128 + GetParam());
  EXPECT_THAT(command.errors(), Not(HasSubstr("failed")));
  expect_all_gone(command);
}

INSTANTIATE_TEST_SUITE_P(Signals, RunEndsBySignal, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT));

TEST(RunEnds, ASecondInterruptKillsAtOnce) {
  Command command(shell({"-n", "2", "--grace", "9999999min"}, "trap '' INT; echo pid $$; while :; do sleep 1; done"));
  ASSERT_TRUE(printed_pids(command, 2));
  command.send(SIGINT);
  ASSERT_TRUE(eventually([&] { return command.errors().find("SIGINT came") != std::string::npos; }));
  command.send(SIGINT);
  EXPECT_EQ(command.wait(), 128 + SIGINT);
  EXPECT_THAT(command.errors(), HasSubstr("ranks 0-1 did not end in time and were killed"));
  expect_all_gone(command);
}

/// A terminal that closes is told of by the kernel and by the shell; `timeout` signals its child and its own group.
TEST(RunEnds, TwoSignalsAtOnceAreOneEvent) {
  Command command(shell({"-n", "2"},
                        "trap 'sleep 0.5; echo saved; exit 0' HUP TERM; echo pid $$; "
                        "while :; do sleep 0.1; done"));
  ASSERT_TRUE(printed_pids(command, 2));
  command.send(SIGHUP);
  command.send(SIGTERM);
  EXPECT_EQ(command.wait(), 128 + SIGHUP);
  EXPECT_THAT(command.output(), AllOf(HasSubstr("[rank 0] saved"), HasSubstr("[rank 1] saved")));
}

/// Shells, whose children lead groups of their own: of them no signal to the rank's group would tell.
TEST(RunEnds, WhatHasLeftTheGroupOfItsRankIsEndedToo) {
  const std::string script = "echo pid $$; timeout 1000 sh -c 'echo pid $$; exec sleep 1000' & wait";
  for (const int signal : {SIGTERM, SIGKILL}) {
    Command command(shell({"-n", "2"}, script));
    ASSERT_TRUE(printed_pids(command, 4));
    command.send(signal);
    EXPECT_EQ(command.wait(), signal == SIGKILL ? 1000 + signal : 128 + signal);
    expect_all_gone(command);
  }
  Command command(shell({"-n", "2"}, "test $RANK = 1 && { sleep 1; exit 3; }; " + script));
  EXPECT_EQ(command.wait(), 3);
  EXPECT_EQ(numbers_after("pid", command.output()).size(), 2U);
  expect_all_gone(command);
}

/// Whoever has no shell to continue it is not stopped: nobody could end it.
TEST(RunEnds, ASuspensionThatNobodyCouldEndIsNone) {
  Command command({"setsid", "-w", "sh", "-c",
                   "(sleep 0.5; kill -TSTP $$) & exec " LOCKSTEP_PROGRAM " run -n 1 sh -c 'sleep 1.5; echo went on'"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.output(), HasSubstr("went on"));
}

TEST(RunEnds, KillingTheLauncherLeavesNeitherRanksNorTheirChildren) {
  Command command(shell({"-n", "2"}, kShellAndChild));
  ASSERT_TRUE(printed_pids(command, 4));
  command.send(SIGKILL);
  EXPECT_EQ(command.wait(), 1000 + SIGKILL);
  expect_all_gone(command);
}

TEST(RunEnds, UnderNohupAHangupIsNoEnd) {
  Command command(shell({"-n", "1"}, "echo pid $$; read line; sleep 0.3; echo finished"), {.ignore_interrupts = true});
  ASSERT_TRUE(printed_pids(command, 1));
  command.send(SIGHUP);
  command.send(SIGINT);
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.output(), HasSubstr("finished"));
}

TEST(RunEnds, ChildrenThatHoldThePipesDoNotHoldTheJob) {
  Command command(shell({"-n", "2"}, "sh -c 'echo pid $$; exec sleep 1000' & echo done"));
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.errors(), IsEmpty());
  expect_all_gone(command);
}

TEST(RunEnds, EvenThoseInASessionOfTheirOwn) {
  Command command(shell({"-n", "1"}, "setsid sh -c 'echo pid $$; exec sleep 1000' & sleep 0.3; echo done"));
  EXPECT_EQ(command.wait(), 0);
  const std::vector<int> pids = numbers_after("pid", command.output());
  ASSERT_EQ(pids.size(), 1U);
  EXPECT_TRUE(is_alive(pids[0])) << "who asks for a session of its own may outlive the job";
  ::kill(pids[0], SIGKILL);
}

TEST(RunEnds, QuietlyWhenNobodyReadsItsOutput) {
  Command command(
      {"sh", "-c", std::string("{ ") + LOCKSTEP_PROGRAM + " run -n 2 yes; echo code $? >&2; } | head -n 1"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.output(), HasSubstr("] y\n"));
  EXPECT_EQ(command.errors(), "code 141\n");
}

/// Where a parent ignores SIGPIPE, as Python does, a failing write alone tells.
TEST(RunEnds, QuietlyWhenNobodyReadsItsOutputThoughSigpipeIsIgnored) {
  Command command(
      {"sh", "-c",
       std::string("trap '' PIPE; { ") + LOCKSTEP_PROGRAM + " run -n 2 yes; echo code $? >&2; } | head -n 1"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(command.errors(), "code 141\n");
}

TEST(RunEnds, With1WhenItsOutputWasLost) {
  const auto ended = [](const std::string& words) {
    return testing_support::run_command({"sh", "-c", "exec " LOCKSTEP_PROGRAM " run -n 2 " + words});
  };
  const testing_support::Result full = ended("echo hi >/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_EQ(full.errors, "lockstep: output is shown no further: No space left on device.\n");
  const testing_support::Result closed = ended("echo hi >&-");
  EXPECT_EQ(closed.code, 1);
  EXPECT_EQ(closed.errors, "lockstep: output is shown no further: Bad file descriptor.\n");
  EXPECT_EQ(ended("sh -c 'echo hi; exit 7' >/dev/full").code, 7) << "the job's own code comes first";
  EXPECT_EQ(ended("true >/dev/full").code, 0) << "there was nothing to show";
  EXPECT_EQ(ended("sh -c 'echo hi >&2' 2>/dev/full").code, 0) << "nobody could be told";
}

TEST(RunEnds, ABenchmarkWhoseReaderLeavesEndsWithoutAWord) {
  Command command({"sh", "-c",
                   "{ " LOCKSTEP_PROGRAM
                   " bench all_reduce -n 2 --max-bytes 16 --min-time 5ms; echo code $? >&2; } | true"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.errors(), AllOf(testing::EndsWith("code 141\n"), Not(HasSubstr("rank 0"))))
      << "nor an echo of it";
}

TEST(RunEnds, UserSignalsReachTheRanks) {
  Command command(shell({"-n", "2"}, "trap 'echo got it; exit 0' USR1; echo pid $$; while :; do sleep 0.1; done"));
  ASSERT_TRUE(printed_pids(command, 2));
  command.send(SIGUSR1);
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.output(), AllOf(HasSubstr("[rank 0] got it"), HasSubstr("[rank 1] got it")));
}

}  // namespace lockstep
