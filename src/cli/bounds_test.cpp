// What `lockstep` refuses because it is too much, before it takes memory or starts anything.
#include "cli/program_for_tests.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep {

using testing::HasSubstr;
using testing_support::Result;

/// A ring of 1024 ranks has two million transfers.
TEST(CliBounds, OfALongScheduleNoJsonIsMade) {
  expect_usage_error({"show", "ring", "-n", "1024", "--format", "json"},
                     "The schedule 'ring' has 2095104 transfers, and JSON is made of at most 1048576; ask for fewer "
                     "ranks or segments, or for --format schedule.");
}

/// And nobody is told first to allow as many descriptors as they would need.
TEST(CliBounds, FarMoreRanksThanCoresAreNotStarted) {
  const std::string ranks = std::to_string(256 + 64 * std::thread::hardware_concurrency());
  for (const std::vector<std::string>& job :
       {std::vector<std::string>{"bench", "all_reduce", "-n", ranks}, {"run", "-n", ranks, "true"}}) {
    const Result result = lockstep_with(job);
    EXPECT_EQ(result.code, 2) << job.front();
    EXPECT_THAT(result.errors, HasSubstr("(64 a core, 256 in any case); ask for fewer with -n"));
  }
}

TEST(CliBounds, WhatAMeasurementCannotHaveIsRefusedBeforeItStarts) {
  expect_usage_error({"bench", "barrier", "--op", "max"}, "--op is for what sums values, which barrier does not");
  expect_usage_error({"bench", "all_reduce", "-n", "2", "--algorithm", "vendor"},
                     "'vendor' is the MPI library's own, as in: mpirun -n 2 lockstep bench all_reduce --transport mpi");
}

/// A variable of the shell that is not set.
TEST(CliBounds, AnEmptyValueIsNotTheNextWord) {
  constexpr const char* kEmpty = ": it was given an empty value; give it another, or leave it out.";
  expect_usage_error({"price", "--output=", "ring", "tree", "-n", "4", "--bytes", "1MiB"},
                     std::string("--output") + kEmpty);
  expect_usage_error({"show", "ring", "-n", "2", "--format="}, std::string("--format") + kEmpty);
  expect_usage_error({"run", "-n", "1", "--log-dir=", "true"}, std::string("--log-dir") + kEmpty);
  expect_usage_error({"run", "--ranks=", "2", "true"}, std::string("--ranks") + kEmpty);
  EXPECT_EQ(lockstep_with({"run", "-n", "1", "echo", "--ranks="}).output, "[rank 0] --ranks=\n") << "the program's own";
  EXPECT_EQ(lockstep_with({"run", "-n", "1", "--", "echo", "--ranks="}).output, "[rank 0] --ranks=\n");
}

/// Once, instead of by each rank.
TEST(CliBounds, AVariableThatNoRankWouldTakeIsRefusedBeforeRanksStart) {
  for (const auto& [variable, sentence] :
       {std::pair{"LOCKSTEP_TRANSPORT=tpc", "lockstep: LOCKSTEP_TRANSPORT is 'tpc'. Did you mean 'tcp'?\n"},
        std::pair{"LOCKSTEP_ALGORITHM=rign",
                  "lockstep: LOCKSTEP_ALGORITHM: There is no algorithm 'rign'. Did you mean 'ring'?\n"},
        std::pair{"LOCKSTEP_REDUCTION=canonicl",
                  "lockstep: LOCKSTEP_REDUCTION is 'canonicl'. Did you mean 'canonical'?\n"}}) {
    const Result wrong = lockstep_with({"bench", "all_reduce", "-n", "2"}, {variable});
    EXPECT_EQ(wrong.code, 2) << variable;
    EXPECT_EQ(wrong.errors, sentence);
  }
  const Result vendor = lockstep_with({"bench", "all_reduce", "-n", "2"}, {"LOCKSTEP_ALGORITHM=vendor"});
  EXPECT_EQ(vendor.code, 2);
  EXPECT_THAT(vendor.errors, HasSubstr("'vendor' is the MPI library's own, as in: mpirun -n 2"));
}

TEST(CliBounds, CanonicalSumsRunNoAlgorithmThatAVariableAsksForButCannotBe) {
  const std::vector<std::string> bench{"bench", "all_reduce", "-n", "3", "--max-bytes", "4", "--min-time", "1ms"};
  const Result ring = lockstep_with(bench, {"LOCKSTEP_REDUCTION=canonical", "LOCKSTEP_ALGORITHM=ring"});
  EXPECT_EQ(ring.code, 2);
  EXPECT_THAT(ring.errors, HasSubstr("Rank 0: all_reduce: 'ring', which LOCKSTEP_ALGORITHM asks for, does not sum "));
  EXPECT_EQ(lockstep_with(bench, {"LOCKSTEP_REDUCTION=canonical", "LOCKSTEP_ALGORITHM=tree"}).code, 0);
  EXPECT_THAT(lockstep_with({"info"}, {"LOCKSTEP_REDUCTION=canonical"}).output,
              HasSubstr("LOCKSTEP_REDUCTION: of what follows sums run what goes along the canonical tree"));
}

TEST(CliBounds, ABarrierHasNoBuffers) {
  expect_usage_error({"price", "star", "--collective", "barrier", "-n", "4", "--bytes", "1MiB"},
                     "--bytes is of buffers, and a barrier has none; leave it out.");
  expect_usage_error({"price", "star", "--collective", "barrier", "-n", "4", "--format", "svg", "--over", "bytes"},
                     "--over bytes is of buffers, and a barrier has none; leave it out.");
  for (const std::vector<std::string>& typed : {std::vector<std::string>{"--min-bytes", "4"},
                                                {"--max-bytes", "4"},
                                                {"--factor", "2"},
                                                {"--dtype", "int32"},
                                                {"--buffers", "plain"},
                                                {"--cold"}}) {
    std::vector<std::string> words{"bench", "barrier", "-n", "2"};
    words.insert(words.end(), typed.begin(), typed.end());
    expect_usage_error(words, typed.front() + " is of buffers, and a barrier has none; leave it out.");
  }
}

TEST(CliBounds, WhatHasNoWholeBlocksIsNotMeasured) {
  const Result result =
      lockstep_with({"bench", "all_gather", "-n", "3", "--min-bytes", "10", "--max-bytes", "11", "--min-time", "1ms"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.errors, HasSubstr("--max-bytes is 11, and the smallest all_gather of 3 ranks has 12 bytes: a "
                                       "block of float32 for each."));
}

TEST(CliBounds, GroupsHaveAsManyRanksEach) {
  expect_usage_error({"bench", "all_reduce", "-n", "3", "--groups", "2"},
                     "3 ranks cannot be split into so many groups");
  expect_usage_error({"bench", "all_reduce", "-n", "2", "--groups", "two"}, "from 1 to 1024; 'two' is not one");
  expect_usage_error({"bench", "all_reduce", "-n", "2", "--interleaved"}, "--interleaved says how --groups are made");
  expect_usage_error({"bench", "broadcast", "-n", "4", "--groups", "2", "--root", "2"}, "a rank from 0 to 1");
  expect_usage_error({"bench", "barrier", "-n", "4", "--groups", "2", "--local-size", "3"},
                     "--groups 2: ranks of group 1 share hosts otherwise than those of group 0.");
}

TEST(CliBounds, HostsOfMoreRanksThanThereAreAreRefused) {
  expect_usage_error({"bench", "all_reduce", "-n", "2", "--local-size", "3"}, "from 1 to 2; '3' is not one");
  const Result in_a_job = lockstep_with({"run", "-n", "2", LOCKSTEP_PROGRAM, "bench", "barrier", "--local-size", "3"});
  EXPECT_EQ(in_a_job.code, 2);
  EXPECT_THAT(in_a_job.errors, HasSubstr("--local-size takes the number of ranks on a host, from 1 to 2; '3' is not"));
}

/// As a launcher's variable may say that nobody set on purpose.
TEST(CliBounds, AWorldThatNoProcessCanHoldIsRefused) {
  const std::vector<std::string> job{"RANK=0", "WORLD_SIZE=99999999", "LOCKSTEP_JOIN_TIMEOUT=300ms",
                                     "LOCKSTEP_PORT=1024"};
  for (const char* transport : {"auto", "tcp"}) {
    const Result result = testing_support::run_command({"sh", "-c",
                                                        "ulimit -n 1000; exec " LOCKSTEP_PROGRAM " bench all_reduce "
                                                        "--transport " +
                                                            std::string(transport)},
                                                       {.environment = job});
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(
        result.errors,
        "lockstep: Rank 0 is to join 99999999 ranks, and at most 1048576 join each other; is that the number that "
        "the launcher was to start?\n");
  }
}

}  // namespace lockstep
