// `lockstep` as a person uses it: show, prove, info, and what is answered to bad input.
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing_support::Command;

struct Result {
  int code;
  std::string output;
  std::string errors;
};

Result lockstep_with(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
  arguments.insert(arguments.begin(), LOCKSTEP_PROGRAM);
  Command command(arguments, {.environment = std::move(environment)});
  const int code = command.wait();
  return {code, command.output(), command.errors()};
}

/// One line that says `words`, nothing on stdout, and the code of bad usage.
void expect_usage_error(const std::vector<std::string>& arguments, const std::string& words) {
  SCOPED_TRACE(testing::PrintToString(arguments));
  const Result result = lockstep_with(arguments);
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.output, IsEmpty());
  EXPECT_THAT(result.errors, AllOf(StartsWith("lockstep: "), HasSubstr(words)));
  EXPECT_EQ(result.errors.find('\n'), result.errors.size() - 1) << result.errors;
}

constexpr auto kPlain = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;

}  // namespace

class Cli : public testing_support::TemporaryFolder {};

TEST(CliUsage, AloneItHelpsAndFails) {
  const Result alone = lockstep_with({});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.errors, AllOf(HasSubstr("Usage: lockstep"), HasSubstr("prove"), HasSubstr("show")));
  const Result help = lockstep_with({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.output, alone.errors);
}

TEST(CliUsage, SaysItsVersion) {
  const Result result = lockstep_with({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, testing::MatchesRegex("lockstep [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(CliUsage, BadInputIsAnsweredInOneSentence) {
  expect_usage_error({"shwo"}, "There is no command 'shwo'. Did you mean 'show'?");
  expect_usage_error({"--bogus"}, "has no option --bogus");
  expect_usage_error({"show"}, "An algorithm or a file with a schedule is needed");
  expect_usage_error({"show", "rign", "-n", "3"}, "no algorithm and no file 'rign'. Did you mean 'ring'?");
  expect_usage_error({"show", "ring", "-n", "3", "--formt", "json"}, "no option --formt. Did you mean '--format'?");
  expect_usage_error({"show", "ring", "-n", "3", "--format", "svg"}, "There is no format 'svg'.");
  for (const char* command : {"show", "prove"}) {
    expect_usage_error({command, "ring"}, "needs a number of ranks");
    expect_usage_error({command, "ring", "-n"}, "N missing");
    expect_usage_error({command, "ring", "-n", "0"}, "'0' is not one");
    expect_usage_error({command, "ring", "-n", "-3"}, "'-3' is not one");
    expect_usage_error({command, "ring", "-n", "many"}, "'many' is not one");
    expect_usage_error({command, "ring", "-n", "1000000"}, "at most 1024 ranks");
    expect_usage_error({command, "ring", "-n", "3", "--collective", "allreduce"}, "Did you mean 'all_reduce'?");
    expect_usage_error({command, "ring", "-n", "3", "--root", "1"},
                       "--root is for broadcast, scatter, reduce and gather");
    expect_usage_error({command, "ring", "-n", "3", "--collective", "all_to_all"}, "'ring' does no all_to_all");
    expect_usage_error({command, "ring", "-n", "3", "--collective", "broadcast", "--root", "3"},
                       "a rank from 0 to 2; '3' is not one");
    expect_usage_error({command, "no/such/file"}, "no algorithm and no file 'no/such/file'");
    expect_usage_error({command, "/"}, "'/' is not a file with a schedule");
  }
}

TEST(CliProve, ReportsAProof) {
  const Result tree = lockstep_with({"prove", "tree", "-n", "4"});
  EXPECT_EQ(tree.code, 0);
  EXPECT_EQ(tree.output,
            "Proved: tree for all_reduce on 4 ranks: 1 chunk, 4 steps, 6 transfers.\n"
            "Order of summation, the same on every rank:\n"
            "  chunk 0: ((0+1)+(2+3))\n"
            "Canonical: each sum follows the binary tree over the ranks, as in every canonical schedule.\n");
  EXPECT_THAT(lockstep_with({"prove", "ring", "-n", "4"}).output, HasSubstr("\nNot canonical: "));
  const Result broadcast = lockstep_with({"prove", "ring", "-n", "3", "--collective", "broadcast", "--root", "2"});
  EXPECT_EQ(broadcast.code, 0);
  EXPECT_EQ(broadcast.output, "Proved: ring for broadcast on 3 ranks: 3 chunks, 4 steps, 6 transfers.\n");
}

TEST_F(Cli, WhatShowWritesAsAScheduleProveReads) {
  const std::string file = folder_ / "ring.txt";
  EXPECT_EQ(lockstep_with({"show", "ring", "-n", "3", "--format", "schedule", "-o", file}).code, 0);
  EXPECT_EQ(lockstep_with({"prove", file}).output, lockstep_with({"prove", "ring", "-n", "3"}).output);
  expect_usage_error({"prove", file, "-n", "4"}, "is a schedule for 3 ranks, not 4");
  expect_usage_error({"prove", file, "--collective", "barrier"}, "is a schedule for all_reduce, not barrier");
  expect_usage_error({"prove", file, "--root", "1"}, "is a schedule with root 0, not 1");
}

TEST_F(Cli, ARefusedScheduleIsNamedByPlaceAndStillDrawn) {
  const std::string file = write("twice.txt",
                                 "lockstep-schedule 1\nname twice\ncollective all_reduce\nranks 2\nchunks 1\nroot 0\n"
                                 "step\nreduce 0 from 1 to 0\nstep\nreduce 0 from 1 to 0\nend\n",
                                 kPlain);
  const std::string reason =
      "lockstep: The schedule 'twice' is refused: step 1, chunk 0, rank 0: rank 0 would count the contribution of rank "
      "1 twice.\n";
  const Result proof = lockstep_with({"prove", file});
  EXPECT_EQ(proof.code, 1);
  EXPECT_EQ(proof.errors, reason);
  EXPECT_THAT(proof.output, IsEmpty());
  const Result drawing = lockstep_with({"show", file});
  EXPECT_EQ(drawing.code, 1);
  EXPECT_EQ(drawing.errors, reason);
  EXPECT_THAT(drawing.output, HasSubstr("step 1\n  reduce chunk 0: 1 -> 0\n"));
}

TEST_F(Cli, AFileThatIsNoScheduleIsRefusedWithItsLine) {
  const std::string file = write("cut.txt", "lockstep-schedule 1\nname cut\n", kPlain);
  const Result result = lockstep_with({"prove", file});
  EXPECT_EQ(result.code, 1);
  EXPECT_EQ(result.errors, "lockstep: " + file + ", line 3: the text ends where 'collective ...' is expected.\n");
}

TEST_F(Cli, NothingHalfWrittenIsLeft) {
  const Result result = lockstep_with({"show", "ring", "-n", "2", "-o", folder_ / "missing" / "file"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.errors, HasSubstr("No such file or directory"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST(CliShow, DrawsTextAndJson) {
  EXPECT_THAT(lockstep_with({"show", "direct", "-n", "2"}).output,
              AllOf(StartsWith("direct: all_reduce on 2 ranks"), HasSubstr("  chunk 1  0       *\n")));
  EXPECT_THAT(lockstep_with({"show", "direct", "-n", "2", "--format", "json"}).output,
              AllOf(StartsWith("{"), HasSubstr(R"("collective":"all_reduce")")));
}

TEST(CliInfo, ListsWhatThereIs) {
  const Result result = lockstep_with({"info"}, {"LOCKSTEP_ALGORITHM=ring"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("shm      "), HasSubstr("\n  direct "), HasSubstr("\n  tree "),
                                   testing::ContainsRegex("LOCKSTEP_ALGORITHM +ring ")));
}

}  // namespace lockstep
