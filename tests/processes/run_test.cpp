// `lockstep run` as a person uses it: what the ranks get, what they print, where it goes, what is refused.
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"
#include "topology/cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

namespace lockstep {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::Command;
using testing_support::Result;
using testing_support::run_command;

namespace fs = std::filesystem;

namespace {

Result run(std::vector<std::string> arguments, const Command::Options& options = {}) {
  arguments.insert(arguments.begin(), {LOCKSTEP_PROGRAM, "run"});
  return run_command(arguments, options);
}

/// The ranks print at the same time, so their lines come in any order.
std::multiset<std::string> lines_of(const std::string& text) {
  std::multiset<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

class RunFiles : public testing_support::TemporaryFolder {};

}  // namespace

TEST(Run, RanksGetTorchrunsVariables) {
  const Result result = run({"-n", "3", "sh", "-c",
                             "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR; "
                             "test $MASTER_PORT -gt 0 && test ${#LOCKSTEP_JOB} -eq 32"});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(lines_of(result.output),
              ElementsAre("[rank 0] 0 3 0 3 127.0.0.1", "[rank 1] 1 3 1 3 127.0.0.1", "[rank 2] 2 3 2 3 127.0.0.1"));
}

TEST(Run, RanksKnowHowManyCpusTheyHaveTogetherWhereverEachIsBound) {
  for (const char* const ranks : {"1", "2"}) {
    const Result result = testing_support::run_command(
        {"sh", "-c",
         std::string("exec taskset -c 0 " LOCKSTEP_PROGRAM " run -n ") + ranks + " sh -c 'echo $LOCKSTEP_CPUS'"},
        {.environment = {"LOCKSTEP_CPUS=64"}});
    EXPECT_EQ(result.code, 0) << result.errors;
    EXPECT_EQ(lines_of(result.output), lines_of(*ranks == '1' ? "[rank 0] 1" : "[rank 0] 1\n[rank 1] 1"));
  }
}

TEST(Run, RanksShareTheJobsIdentityAndJobsDoNot) {
  const auto ids = [] { return lines_of(run({"-n", "2", "sh", "-c", "echo >&2 $LOCKSTEP_JOB"}).errors); };
  const auto first = ids();
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first.begin()->substr(9), first.rbegin()->substr(9));
  EXPECT_NE(ids().begin()->substr(9), first.begin()->substr(9));
}

TEST(Run, WhatTheUserSetStays) {
  const Result result = run({"-n", "1", "sh", "-c", "echo $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS $GLIBC_TUNABLES"},
                            {.environment = {"OMP_NUM_THREADS=7", "OPENBLAS_NUM_THREADS=5", "GLIBC_TUNABLES=x=y"}});
  EXPECT_EQ(result.output, "[rank 0] 7 5 x=y\n");
}

TEST(Run, EachStreamKeepsItsPlaceAndThePartialLastLineItsText) {
  const Result result = run({"-n", "1", "sh", "-c", "echo out; echo err >&2; printf half"});
  EXPECT_EQ(result.output, "[rank 0] out\n[rank 0] half\n");
  EXPECT_EQ(result.errors, "[rank 0] err\n");
}

TEST(Run, OptionsAfterTheProgramAreTheProgramsOwn) {
  const Result result = run({"-n", "1", "echo", "-n", "7", "--help", "run", "[a,b]", "--", "--log-dir=x"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, "[rank 0] 7 --help run [a,b] -- --log-dir=x\n");
}

TEST(Run, TwoDashesMayStandBeforeTheProgram) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"-n", "1"}, {"-n1"}, {"--ranks=1", "--no-pin"}, {"--grace", "1s", "-n", "1"}}) {
    std::vector<std::string> arguments = options;
    arguments.insert(arguments.end(), {"--", "sh", "-c", "printf '<%s>' \"$0\" \"$@\"", "-n", "--", "7"});
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.errors;
    EXPECT_THAT(result.output, HasSubstr("[rank 0] <-n><--><7>\n"));
  }
}

TEST(Run, TheDefaultIsOneRankForEachCore) {
  const Result result = run({"sh", "-c", "echo $WORLD_SIZE"});
  EXPECT_EQ(result.code, 0);
  std::multiset<std::string> expected;
  const int cores = available_cpus().cores;
  for (int rank = 0; rank < cores; ++rank) {
    expected.insert("[rank " + std::to_string(rank) + "] " + std::to_string(cores));
  }
  EXPECT_EQ(lines_of(result.output), expected);
  EXPECT_THAT(result.errors, IsEmpty());
}

TEST(Run, MoreRanksThanCoresWorkAndSaySoOnce) {
  const std::string ranks = std::to_string(std::thread::hardware_concurrency() + 1);
  const Result result = run({"-n", ranks, "true"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.errors, AllOf(HasSubstr(ranks + " ranks share"), HasSubstr("take turns")));
  EXPECT_EQ(lines_of(result.errors).size(), 1U);
}

TEST(Run, RanksArePinnedToTheirOwnCoresUnlessToldNotTo) {
  const std::vector<std::string> show = {"sh", "-c", "grep Cpus_allowed_list /proc/self/status"};
  const auto mask_of_each = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), show.begin(), show.end());
    std::set<std::string> masks;
    for (const std::string& line : lines_of(run(arguments).output)) masks.insert(line.substr(line.find(']')));
    return masks;
  };
  EXPECT_EQ(mask_of_each({"-n", "2", "--no-pin"}).size(), 1U);
  if (distribute_cpus(2).empty()) GTEST_SKIP() << "no shares for two here: " << describe_topology();
  EXPECT_EQ(mask_of_each({"-n", "2"}).size(), 2U);
  const int cpus = available_cpus().threads;
  EXPECT_EQ(mask_of_each({"-n", std::to_string(2 * cpus)}).size(), static_cast<std::size_t>(cpus))
      << "where there are not enough they are dealt in turn";
}

TEST(Run, StdinGoesToRank0) {
  const Result result = run({"-n", "2", "sh", "-c", "echo \"<$(cat)>\""}, {.input = "hello"});
  EXPECT_THAT(lines_of(result.output), ElementsAre("[rank 0] <hello>", "[rank 1] <>"));
}

TEST(Run, AnEndlessLineComesInPieces) {
  const Result result = run({"-n", "1", "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), 'x'), 300000);
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 5);
}

TEST(Run, InAPipeThereAreNoColours) { EXPECT_THAT(run({"-n", "2", "echo", "plain"}).output, Not(HasSubstr("\x1b"))); }

TEST_F(RunFiles, EachRankHasALogFile) {
  const fs::path logs = folder_ / "a" / "b";
  const Result result =
      run({"-n", "2", "--log-dir", logs.string(), "sh", "-c", "echo out $RANK; echo err $RANK >&2; printf end"});
  EXPECT_EQ(result.code, 0) << result.errors;
  for (const char* rank : {"0", "1"}) {
    const std::string text = read(logs / ("rank" + std::string(rank) + ".log"));
    EXPECT_THAT(text, AllOf(HasSubstr(std::string("out ") + rank + "\n"), HasSubstr(std::string("err ") + rank + "\n"),
                            HasSubstr("end"), Not(HasSubstr("[rank"))));
  }
}

TEST_F(RunFiles, ALogFolderThatCannotBeMadeIsRefusedBeforeAnythingStarts) {
  const fs::path file = write("file", "", fs::perms::owner_read);
  const Result result =
      run({"-n", "1", "--log-dir", (file / "logs").string(), "touch", (folder_ / "started").string()});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.errors, HasSubstr("Cannot make the log folder " + file.string()));
  EXPECT_FALSE(fs::exists(folder_ / "started"));
}

TEST_F(RunFiles, AProgramThatCannotRunIsExplainedInOneSentence) {
  const auto refusal = [&](const fs::path& program) {
    const Result result = run({"-n", "2", program.string()});
    EXPECT_EQ(result.code, 2) << program;
    EXPECT_EQ(lines_of(result.errors).size(), 1U) << result.errors;
    return result.errors;
  };
  const fs::perms executable = fs::perms::owner_all;
  EXPECT_THAT(refusal("no-such-program"), HasSubstr("no program 'no-such-program' in PATH"));
  EXPECT_THAT(refusal(folder_ / "missing"), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal(folder_), HasSubstr("it is a folder"));
  EXPECT_THAT(refusal(write("data", "x", fs::perms::owner_read)), HasSubstr("chmod +x"));
  EXPECT_THAT(refusal(write("garbage", "garbage", executable)), HasSubstr("neither a program"));
  EXPECT_THAT(refusal(write("script", "#!/no/such/shell\n", executable)), HasSubstr("the interpreter in its #! line"));
}

TEST(Run, BadUsageIsOneSentenceAndExitCode2) {
  const auto refusal = [&](const std::vector<std::string>& arguments) {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 2) << result.errors;
    EXPECT_EQ(lines_of(result.errors).size(), 1U) << result.errors;
    EXPECT_THAT(result.output, IsEmpty());
    return result.errors;
  };
  for (const char* ranks : {"0", "many", "-1", "2.5", "99999999999"}) {
    EXPECT_THAT(refusal({"-n", ranks, "true"}), HasSubstr(std::string("'") + ranks + "'"));
  }
  EXPECT_THAT(refusal({"-n", "1000000", "true"}), HasSubstr("1000000 ranks on "));
  EXPECT_THAT(refusal({}), HasSubstr("needs a program"));
  EXPECT_THAT(refusal({"--"}), HasSubstr("needs a program"));
  EXPECT_THAT(refusal({"--", "-n", "2", "true"}), HasSubstr("needs a program behind --, and '-n' is none"));
  EXPECT_THAT(refusal({"--log-dri", "x", "--", "true"}), HasSubstr("Did you mean '--log-dir'?"));
  EXPECT_THAT(refusal({"--log-dri", "x", "true"}), HasSubstr("Did you mean '--log-dir'?"));
  EXPECT_THAT(refusal({"--grace", "soon", "true"}), HasSubstr("--grace: 'soon' is not a time"));
  refusal({"-n"});
}

TEST(Run, RanksForWhichThereAreTooFewDescriptorsAreNotStarted) {
  const Result result = run_command({"sh", "-c", "ulimit -n 70; exec " LOCKSTEP_PROGRAM " run -n 8 true"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.errors, HasSubstr("8 ranks need 80 open files and this shell allows 70: start fewer, or raise it "
                                       "(ulimit -n 80)."));
}

}  // namespace lockstep
