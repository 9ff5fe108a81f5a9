#include "launch/outcome.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace lockstep {

namespace {

using std::chrono::milliseconds;

RankOutcome exited(int code, milliseconds when) { return {.code = code, .ended = Clock::time_point(when)}; }
RankOutcome killed(int signal, milliseconds when) { return {.signal = signal, .ended = Clock::time_point(when)}; }
RankOutcome stopped(int signal, milliseconds when) {
  return {.signal = signal, .stop = RankOutcome::Stop::kAsked, .ended = Clock::time_point(when)};
}

}  // namespace

TEST(Outcome, AllWentWell) {
  const JobOutcome job{.ranks = {exited(0, milliseconds(1)), exited(0, milliseconds(2))}};
  EXPECT_EQ(first_failure(job), std::nullopt);
  EXPECT_EQ(exit_code(job), 0);
}

TEST(Outcome, TheFirstThatFailedDecides) {
  const JobOutcome job{.ranks = {exited(3, milliseconds(20)), exited(0, milliseconds(5)), exited(4, milliseconds(10))}};
  EXPECT_EQ(first_failure(job), 2);
  EXPECT_EQ(exit_code(job), 4);
}

TEST(Outcome, ACrashRightAfterAnExitIsItsCause) {
  JobOutcome job{.ranks = {exited(1, milliseconds(1000)), killed(SIGSEGV, milliseconds(1150))}};
  EXPECT_EQ(first_failure(job), 1);
  EXPECT_EQ(exit_code(job), 128 + SIGSEGV);
  job.ranks[1] = killed(SIGSEGV, milliseconds(1300));
  EXPECT_EQ(first_failure(job), 0) << "too late to be the cause";
}

TEST(Outcome, AnAbortMayBeAnEchoOfAnExit) {
  const JobOutcome job{.ranks = {killed(SIGABRT, milliseconds(1050)), exited(1, milliseconds(1000))}};
  EXPECT_EQ(first_failure(job), 1);
}

TEST(Outcome, WhomWeStoppedDidNotFail) {
  JobOutcome job{.ranks = {stopped(SIGTERM, milliseconds(10)), exited(5, milliseconds(20))}};
  EXPECT_EQ(first_failure(job), 1);
  job = {.ranks = {stopped(SIGINT, milliseconds(10))}, .interrupted_by = SIGINT};
  EXPECT_EQ(first_failure(job), std::nullopt);
  EXPECT_EQ(exit_code(job), 128 + SIGINT);
}

}  // namespace lockstep
