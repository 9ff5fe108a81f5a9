// Ranks under mpirun: the conformance suite over MPI, programs that use MPI themselves, and what errors say.
#include "tests/processes/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace lockstep {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Command;

// Open MPI ends with memory of its own still allocated, which a build with AddressSanitizer would fail for.
constexpr const char* kLeaksAreOpenMpis = "ASAN_OPTIONS=detect_leaks=0";

class Mpi : public testing::Test {
 public:
  static std::unique_ptr<Command> act(int ranks, const std::string& name) {
    return run(ranks, {LOCKSTEP_MPI_PROGRAM, name});
  }

 protected:
  void SetUp() override {
    if (std::string(LOCKSTEP_MPIRUN).empty()) GTEST_SKIP() << "mpirun is not installed";
    if (std::string(LOCKSTEP_MPI_PROGRAM).empty()) GTEST_SKIP() << "built without MPI (Debian: libopenmpi-dev)";
  }

  /// Starts so many ranks.
  static std::unique_ptr<Command> run(int ranks, std::vector<std::string> command,
                                      std::vector<std::string> environment = {"LOCKSTEP_TRANSPORT=mpi"}) {
    std::vector<std::string> words{LOCKSTEP_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n",
                                   std::to_string(ranks)};
    words.insert(words.end(), command.begin(), command.end());
    Command::Options options;
    options.environment = std::move(environment);
    options.environment.push_back(kLeaksAreOpenMpis);
    return std::make_unique<Command>(words, options);
  }
};

/// Every rank says of `name` how many were right, in so many digits at least.
void expect_right(int ranks, const std::string& name, int digits) {
  const auto command = Mpi::act(ranks, name);
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_THAT(command->output(),
                testing::ContainsRegex("rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": [0-9]{" +
                                       std::to_string(digits) + ",} right"));
  }
}

void expect_schedules_followed(int ranks) {
  const auto command = Mpi::act(ranks, "follow_schedules");
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  EXPECT_THAT(command->output(), testing::ContainsRegex("rank 0: [0-9]{2,} schedules"));
}

class MpiRanks : public Mpi, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, MpiRanks, testing::Values(1, 2, 3, 4));

/// More than a small machine has cores, where everything takes longer.
class MpiManyRanks : public Mpi, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, MpiManyRanks, testing::Values(5, 8));

}  // namespace

TEST_P(MpiRanks, Conform) { expect_right(GetParam(), "conform", 4); }
TEST_P(MpiRanks, CanonicalSums) { expect_right(GetParam(), "canonical", 3); }
TEST_P(MpiRanks, FollowSchedules) { expect_schedules_followed(GetParam()); }
TEST_P(MpiRanks, HandWholeCollectivesToMpi) { expect_right(GetParam(), "hand_over", 3); }

TEST_P(MpiManyRanks, ConformInAllReduces) { expect_right(GetParam(), "conform_in_all_reduces", 3); }
TEST_P(MpiManyRanks, FollowSchedules) { expect_schedules_followed(GetParam()); }

TEST_F(Mpi, WhatCannotBeHandedOverIsSaid) {
  const auto command = act(2, "hand_over_wrongly");
  EXPECT_EQ(command->wait(), 3) << command->errors();
  EXPECT_THAT(command->output(), AllOf(HasSubstr("MPI has no type bfloat16 to reduce"),
                                       HasSubstr("'vendor' does not sum bfloat16 along the canonical tree"),
                                       HasSubstr("rank 0: all_reduce of 10 float32 (sum, vendor)"),
                                       HasSubstr("rank 1: all_reduce of 12 float32 (sum, vendor)")));
}

TEST_F(Mpi, MemoryThatItDoesNotTakeIsSaid) {
  const auto command = act(2, "bring_wrong_memory");
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  EXPECT_THAT(command->output(),
              AllOf(HasSubstr("Rank 1: all_reduce: the buffer is in device memory, which the transport mpi does not "
                              "take; copy it to host memory first."),
                    HasSubstr("the buffer has a stream, but is in host memory"),
                    HasSubstr("1152921504606846976 bytes of memory could not be had"),
                    HasSubstr("18446744073709551615 bytes of memory could not be had"), HasSubstr("sum 2\n")));
}

TEST_F(Mpi, GroupsAndMessagesAndASecondWorld) {
  const auto command = act(4, "parts");
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  // Even ranks sum to 2, odd ones to 4, all to 6; twice.
  EXPECT_THAT(command->output(), AllOf(HasSubstr("sum 4012\n"), HasSubstr("sum 8012\n")));
}

/// What fits is buffered, whatever the receiver is in; where ranks only send, nobody is in MPI for the other.
TEST_F(Mpi, RanksMaySendToEachOtherBeforeTheyReceive) {
  for (const int ranks : {2, 3}) {
    const auto command = act(ranks, "send_first");
    EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
    EXPECT_THAT(command->output(),
                AllOf(HasSubstr("sum 42\n"), HasSubstr("sum 2\n"), HasSubstr("sum 12\n"), HasSubstr("sum 36006000\n")))
        << ranks;
  }
}

TEST_F(Mpi, AMessageWaitsForNoCollective) {
  const auto command = act(3, "send_across_a_barrier");
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  EXPECT_THAT(command->output(), HasSubstr("sum 42\n"));
}

/// Over TCP, and through memory in pieces.
TEST_F(Mpi, WhatIsBufferedNeedsItsSenderNoMore) {
  for (const char* const by : {"OMPI_MCA_btl=tcp,self", "OMPI_MCA_btl_vader_single_copy_mechanism=none"}) {
    const auto command = run(2, {LOCKSTEP_MPI_PROGRAM, "send_and_sleep"}, {"LOCKSTEP_TRANSPORT=mpi", by});
    EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
    EXPECT_THAT(command->output(), HasSubstr("woken")) << by;
  }
}

TEST_F(Mpi, WhatWasSentIsReceivedThoughTheSenderHasLeft) {
  const auto command = act(2, "leave_messages_behind");
  EXPECT_EQ(command->wait(), 0) << "and what nobody received held up no end: " << command->output();
  EXPECT_THAT(command->output(), AllOf(HasSubstr("sum 12\n"), HasSubstr("the World is gone")));
}

TEST_F(Mpi, ThreadsReadTheirOwnErrors) {
  const auto command = act(1, "fail_in_two_threads");
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  EXPECT_THAT(command->output(), AllOf(HasSubstr("always MPI_ERR_RANK"), HasSubstr("always MPI_ERR_TAG")));
}

TEST_F(Mpi, WhoStartedItEndsIt) {
  const auto command = act(2, "beside_serialized");
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  EXPECT_THAT(command->output(), AllOf(HasSubstr("sum 2\n"), HasSubstr("finalized 0, MPI still sums to 2")));
}

TEST_F(Mpi, ALevelOfThreadsThatIsTooLowIsRefused) {
  const auto command = act(2, "beside_single");
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  EXPECT_THAT(command->output(),
              AllOf(HasSubstr("MPI runs with MPI_THREAD_SINGLE; Lockstep needs MPI_THREAD_SERIALIZED"),
                    HasSubstr("MPI still sums to 2")));
}

TEST_F(Mpi, AWorldThatIsMadeWhenMpiIsOverIsRefused) {
  const auto command = act(2, "come_too_late");
  EXPECT_EQ(command->wait(), 3);
  EXPECT_THAT(command->output(),
              HasSubstr("MPI has been finalised in this process, and cannot be started twice; make"));
}

TEST_F(Mpi, ARankThatLeavesIsNamed) {
  const auto command = act(3, "leave");
  EXPECT_EQ(command->wait(), 3);
  EXPECT_THAT(command->output(), AllOf(HasSubstr("noticed peer 2"), HasSubstr("rank 2 has left the group"),
                                       HasSubstr("all_reduce #2"), HasSubstr("gradients of layer1")));
}

TEST_F(Mpi, ARankThatEndsWithinAGroupTakesTheJobDown) {
  const auto command = act(3, "end");
  EXPECT_EQ(command->wait(), 7) << "and no deadline had to pass: " << command->output();
}

TEST_F(Mpi, ARankThatThrowsIsQuotedToTheOthers) {
  const auto command = act(3, "raise");
  EXPECT_NE(command->wait(), 0);
  EXPECT_THAT(command->output(), AllOf(HasSubstr("failed: the disk is on fire"), HasSubstr("noticed peer 2")));
}

TEST_F(Mpi, AStoppedRankIsNamedAtTheDeadline) {
  const auto command = run(3, {LOCKSTEP_RANK_PROGRAM, "freeze"});
  EXPECT_EQ(command->wait(), 3);
  EXPECT_THAT(command->output(), AllOf(HasSubstr("peer 2"), HasSubstr("all_reduce #3"), HasSubstr("waited 0.5 s")));
}

/// What is under way needs the stopped rank: over TCP, and through memory in pieces.
TEST_F(Mpi, ARankThatIsStoppedWhileItSendsHoldsUpNoWorldThatGoes) {
  for (const char* const by : {"OMPI_MCA_btl=tcp,self", "OMPI_MCA_btl_vader_single_copy_mechanism=none"}) {
    const auto command = run(2, {LOCKSTEP_MPI_PROGRAM, "stop_while_sending"}, {"LOCKSTEP_TRANSPORT=mpi", by});
    EXPECT_THAT(command->wait(), testing::AllOf(testing::Ge(0), testing::Lt(1000))) << by;
    EXPECT_THAT(command->output(), AllOf(HasSubstr("noticed peer 1: "), HasSubstr("the World is gone"))) << by;
  }
}

TEST_F(Mpi, TwoThatOnlyWaitForEachOtherDisagree) {
  const auto command = run(2, {LOCKSTEP_RANK_PROGRAM, "cross"});
  EXPECT_EQ(command->wait(), 3);
  EXPECT_THAT(command->output(), AllOf(HasSubstr("the ranks disagree about what it is (rank 0: gather of 2 float32"),
                                       HasSubstr("rank 1: broadcast of 2 float32")));
}

TEST_F(Mpi, AForkedChildThatEndsDisturbsNobody) {
  const auto command = run(2, {LOCKSTEP_RANK_PROGRAM, "fork"});
  EXPECT_EQ(command->wait(), 0) << command->errors();
  EXPECT_THAT(command->output(), AllOf(HasSubstr("registered: 2\n"), HasSubstr("rank 0 of 2: 101 101")));
}

TEST_F(Mpi, ARankThatWaitedInVainForTheStartEnds) {
  const auto command = run(1, {LOCKSTEP_RANK_PROGRAM, "sum", ":", "-n", "1", LOCKSTEP_MPI_PROGRAM, "stay_away"},
                           {"LOCKSTEP_TRANSPORT=mpi", "LOCKSTEP_JOIN_TIMEOUT=1s"});
  EXPECT_NE(command->wait(), 0);
  EXPECT_THAT(command->output(), HasSubstr("not all ranks of MPI_COMM_WORLD came to the start of Lockstep"));
  EXPECT_THAT(command->output(), testing::Not(HasSubstr("stayed away")));
}

TEST_F(Mpi, ARankThatDiesTakesTheJobDown) {
  const auto command = run(3, {LOCKSTEP_RANK_PROGRAM, "die"});
  EXPECT_NE(command->wait(), 0);
  EXPECT_THAT(command->errors(), HasSubstr("signal 9"));
}

TEST_F(Mpi, AutoTakesItOnSeveralHosts) {
  // mpirun tells each rank how many are beside it; these are told otherwise.
  const std::string say =
      std::string("export OMPI_COMM_WORLD_LOCAL_SIZE=1 LOCKSTEP_HOST=$OMPI_COMM_WORLD_RANK; exec ") +
      LOCKSTEP_RANK_PROGRAM + " hosts";
  const auto command = run(2, {"sh", "-c", say}, {});
  EXPECT_EQ(command->wait(), 0) << command->output() << command->errors();
  EXPECT_THAT(command->output(), HasSubstr("rank 1 of hosts 0 1: 2 by recursive_doubling"));
}

TEST_F(Mpi, WithoutMpirunItIsRefused) {
  Command::Options options;
  options.environment = {"LOCKSTEP_TRANSPORT=mpi", kLeaksAreOpenMpis};
  Command command({LOCKSTEP_PROGRAM, "run", "-n", "2", LOCKSTEP_RANK_PROGRAM, "sum"}, options);
  EXPECT_EQ(command.wait(), 3);
  EXPECT_THAT(command.output(), HasSubstr("say rank 1 of 2, and MPI says 0 of 1; start the program with mpirun"));
}

TEST_F(Mpi, IsBenchmarked) {
  const auto command = run(2,
                           {LOCKSTEP_PROGRAM, "bench", "all_reduce", "--transport", "mpi", "--min-bytes", "1KiB",
                            "--max-bytes", "1KiB", "--min-time", "5ms", "--cache-bytes", "1MiB"},
                           {});
  EXPECT_EQ(command->wait(), 0) << command->errors();
  EXPECT_THAT(command->output(), AllOf(HasSubstr("# all_reduce on 2 ranks, registered memory, mpi"),
                                       testing::ContainsRegex("\n +1024 .* 0\n")));
}

TEST_F(Mpi, ItsOwnCollectivesAreBenchmarkedBesideOurs) {
  const auto command = run(2,
                           {LOCKSTEP_PROGRAM, "bench", "all_reduce", "--transport", "mpi", "--algorithm", "all",
                            "--min-bytes", "1KiB", "--max-bytes", "1KiB", "--min-time", "5ms", "--cache-bytes", "1MiB"},
                           {});
  EXPECT_EQ(command->wait(), 0) << command->errors();
  EXPECT_THAT(command->output(), testing::ContainsRegex("\n +1024 .* vendor .* 0\n"));
}

TEST(MpiAbsent, IsSaidInOneSentence) {
  Command::Options options;
  options.environment = {"LOCKSTEP_TRANSPORT=mpi", "LOCKSTEP_MPI_LIBRARY=/no/such.so", "RANK=0", "WORLD_SIZE=2"};
  Command command({LOCKSTEP_RANK_PROGRAM, "sum"}, options);
  EXPECT_EQ(command.wait(), 3);
  EXPECT_THAT(command.output(),
              AllOf(HasSubstr("The transport mpi needs liblockstep-mpi.so, which is built where CMake finds MPI"),
                    HasSubstr("/no/such.so")));
  Command bench({LOCKSTEP_PROGRAM, "bench", "all_reduce", "-n", "2", "--transport", "mpi"}, {});
  EXPECT_EQ(bench.wait(), 2);
  EXPECT_THAT(bench.errors(), HasSubstr("as in: mpirun -n 2 lockstep bench"));
}

}  // namespace lockstep
