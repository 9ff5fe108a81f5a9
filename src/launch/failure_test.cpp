#include "launch/failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

Clock::time_point after(int ms) { return Clock::time_point(std::chrono::milliseconds(ms)); }

RankOutcome stopped(RankOutcome::Stop stop) { return {.signal = SIGTERM, .stop = stop, .ended = after(3000)}; }

}  // namespace

TEST(Failure, NoFailureNoScreen) { EXPECT_EQ(describe_failure({.ranks = {{}}}, {}), ""); }

TEST(Failure, TheWholeScreen) {
  const JobOutcome job{
      .ranks = {{.code = 1, .ended = after(2040), .last_lines = {"x", "all_reduce: rank 1 died"}},
                {.signal = SIGSEGV, .dumped_core = true, .ended = after(2000), .last_lines = {"a", "b"}},
                stopped(RankOutcome::Stop::kAsked),
                stopped(RankOutcome::Stop::kAsked),
                {.ended = after(100)},
                stopped(RankOutcome::Stop::kKilled)},
      .started = after(0)};
  EXPECT_EQ(
      describe_failure(
          job, {.command = {"./train", "--text", "it is"}, .grace = std::chrono::seconds(5), .log_dir = "logs"}),
      "\n"
      "lockstep: rank 1 failed first: it was ended by SIGSEGV (Segmentation fault), and left a core, 2.0 s after the "
      "start.\n"
      "  program    ./train --text 'it is'\n"
      "  last lines a\n"
      "             b\n"
      "  others     rank 0 exited with code 1, 0.04 s later: all_reduce: rank 1 died\n"
      "             ranks 2-3 stopped by lockstep\n"
      "             rank 4 had finished\n"
      "             rank 5 did not end within 5.0 s of SIGTERM: killed\n"
      "  log        logs/rank1.log\n");
}

/// libtorch's text of an exception ends in the frames of a stack and a blank line.
TEST(Failure, AnUncaughtExceptionIsShownByWhatItSays) {
  const std::vector<std::string> lines = {"terminate called after throwing an instance of 'c10::Error'",
                                          "  what():  The size of tensor a (3) must match the size of tensor b (4)",
                                          "Exception raised from infer_size_impl (most recent call first):",
                                          "frame #0: c10::Error::Error(...) + 0x57 (0x7f1b in libc10.so)",
                                          "frame #1: <unknown function> + 0x1d9 (0x55e1 in ./train)",
                                          "",
                                          "  "};
  const JobOutcome job{
      .ranks = {{.signal = SIGABRT, .ended = after(1000), .last_lines = lines},
                {.signal = SIGABRT, .ended = after(1040), .last_lines = lines},
                {.code = 1, .ended = after(1050), .last_lines = {"read 3 files", "frame #2: main", ""}},
                {.code = 2, .ended = after(1060), .last_lines = {"", "\t"}}},
      .started = after(0)};
  EXPECT_THAT(
      describe_failure(job, {}),
      HasSubstr("  last lines terminate called after throwing an instance of 'c10::Error'\n"
                "               what():  The size of tensor a (3) must match the size of tensor b (4)\n"
                "             Exception raised from infer_size_impl (most recent call first):\n"
                "  others     rank 1 was ended by SIGABRT (Aborted), 0.04 s later: what():  The size of tensor a "
                "(3) must match the size of tensor b (4)\n"
                "             rank 2 exited with code 1, 0.05 s later: read 3 files\n"
                "             rank 3 exited with code 2, 0.06 s later\n"));
  EXPECT_THAT(describe_failure({.ranks = {job.ranks[3]}}, {}), HasSubstr("  last lines (none)\n"));
  EXPECT_THAT(describe_failure({.ranks = {{.code = 1, .last_lines = {"frame #8: main", ""}}}}, {}),
              HasSubstr("  last lines frame #8: main\n"))
      << "more than nothing";
}

TEST(Failure, WhoseSignalWasSeenLaterFailedFirstAllTheSame) {
  const JobOutcome job{.ranks = {{.signal = SIGSEGV, .ended = after(2000)}, {.code = 3, .ended = after(1950)}}};
  EXPECT_THAT(describe_failure(job, {}), HasSubstr("rank 1 exited with code 3, 0.05 s before that was seen\n"));
}

TEST(Failure, ACommandCanBeTypedAgain) {
  EXPECT_THAT(describe_failure({.ranks = {{.code = 1}}}, {.command = {"./train", "it's", "$HOME", ""}}),
              HasSubstr("  program    ./train 'it'\\''s' '$HOME' ''\n"));
}

TEST(Failure, OneRankAlone) {
  EXPECT_EQ(describe_failure({.ranks = {{.code = 3, .ended = after(100)}}}, {.command = {"./train"}}),
            "\nlockstep: rank 0 exited with code 3, 0.1 s after the start.\n"
            "  program    ./train\n"
            "  last lines (none)\n");
}

TEST(Failure, HintsAtTheUsualCause) {
  const auto screen = [](const RankOutcome& rank) { return describe_failure({.ranks = {rank}}, {}); };
  EXPECT_THAT(screen({.signal = SIGKILL}), HasSubstr("out of memory"));
  EXPECT_THAT(screen({.signal = SIGBUS}), HasSubstr("/dev/shm"));
  EXPECT_THAT(screen({.signal = SIGILL}), HasSubstr("another CPU"));
  EXPECT_THAT(screen({.code = 127}), HasSubstr("does not find"));
  EXPECT_THAT(screen({.code = 1}), Not(HasSubstr("why")));
}

TEST(Failure, AThousandRanksFitOnOneScreen) {
  JobOutcome job{.ranks = {1000, stopped(RankOutcome::Stop::kAsked)}};
  job.ranks[500] = {.code = 1};
  EXPECT_THAT(describe_failure(job, {}), HasSubstr("ranks 0-499, 501-999 stopped by lockstep\n"));
  for (int rank = 0; rank < 100; ++rank) job.ranks[rank] = {.code = 2 + rank, .ended = after(100)};
  const std::string screen = describe_failure(job, {});
  EXPECT_LT(std::count(screen.begin(), screen.end(), '\n'), 24);
  EXPECT_THAT(screen, HasSubstr("and 89 more"));
}

TEST(Failure, ColoursOnlyWhereAsked) {
  const JobOutcome job{.ranks = {{.code = 1, .last_lines = {"line"}}}};
  EXPECT_THAT(describe_failure(job, {}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(describe_failure(job, {.colour = true}), AllOf(HasSubstr("\x1b[1;31m"), HasSubstr("line\x1b[0m")));
}

TEST(Failure, AnInterruptionTellsWhoHadToBeKilled) {
  JobOutcome job{.ranks = {stopped(RankOutcome::Stop::kAsked), stopped(RankOutcome::Stop::kKilled)},
                 .interrupted_by = SIGINT};
  EXPECT_EQ(describe_interruption(job), "rank 1 did not end in time and was killed.");
  job.ranks[1].stop = RankOutcome::Stop::kAsked;
  EXPECT_EQ(describe_interruption(job), "");
}

}  // namespace lockstep
