// World::from_env between real processes, under each launcher: results, and what survivors of a death are told.
#include "base/held_port.h"
#include "base/scratch_folder.h"
#include "tests/processes/command.h"
#include "transport/tcp/hmac_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace lockstep {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Command;

namespace {

/// Ranks started by hand: a process each, with torchrun's variables.
class Ranks {
 public:
  Ranks(int size, const std::string& act, const std::string& job, std::vector<std::string> environment = {}) {
    for (int rank = 0; rank < size; ++rank) {
      Command::Options options;
      options.environment = {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(size),
                             "LOCKSTEP_JOB=" + job, "LOCKSTEP_JOIN_TIMEOUT=30s"};
      options.environment.insert(options.environment.end(), environment.begin(), environment.end());
      ranks_.push_back(std::make_unique<Command>(std::vector<std::string>{LOCKSTEP_RANK_PROGRAM, act}, options));
    }
  }
  std::vector<int> wait() {
    std::vector<int> codes;
    for (auto& rank : ranks_) codes.push_back(rank->wait());
    return codes;
  }
  int wait(int rank) { return ranks_[static_cast<std::size_t>(rank)]->wait(); }
  void send(int signal) const {
    for (const auto& rank : ranks_) rank->send(signal);
  }
  std::string output(int rank) const { return ranks_[static_cast<std::size_t>(rank)]->output(); }

 private:
  std::vector<std::unique_ptr<Command>> ranks_;
};

std::string job_of(const std::string& test) { return test + "-" + std::to_string(::getpid()); }

/// A rank that dies before the third operation has left the second, in which others may still be.
auto in_the_operation() { return testing::AnyOf(HasSubstr("all_reduce #2"), HasSubstr("all_reduce #3")); }

/// Microseconds of the one clock that a host's processes share.
std::int64_t time_after(const std::string& word, const std::string& text) {
  const std::size_t at = text.find(word);
  return at == std::string::npos ? -1 : std::stoll(text.substr(at + word.size()));
}

/// Where ranks meet over TCP: a port each time, held as long as this program runs.
std::vector<std::string> over_tcp() {
  static std::vector<HeldPort> ports;
  ports.push_back(hold_port());
  return {"LOCKSTEP_TRANSPORT=tcp", "LOCKSTEP_PORT=" + std::to_string(ports.back().number)};
}

/// Runs two ranks of the rank program under a launcher and checks what they print.
void expect_sums(std::vector<std::string> launcher, const Command::Options& options = {}) {
  launcher.insert(launcher.end(), {LOCKSTEP_RANK_PROGRAM, "sum"});
  Command command(launcher, options);
  EXPECT_EQ(command.wait(), 0) << command.errors();
  // Round 50: (0 + 50) + (1 + 50).
  EXPECT_THAT(command.output(), AllOf(HasSubstr("rank 0 of 2: 101 101"), HasSubstr("rank 1 of 2: 101 101")));
}

/// Shared memory is a file to the system, and these may have none of that size.
std::unique_ptr<Command> sum_with_small_files(std::vector<std::string> environment) {
  Command::Options options;
  options.environment = std::move(environment);
  return std::make_unique<Command>(std::vector<std::string>{LOCKSTEP_PROGRAM, "run", "-n", "2", "sh", "-c",
                                                            "ulimit -f 1000; exec " LOCKSTEP_RANK_PROGRAM " sum"},
                                   options);
}

/// All are suspended for longer than the timeout, while one waits for the other.
void expect_to_go_on_after_a_suspension(Ranks ranks) {
  ASSERT_TRUE(testing_support::eventually([&] { return ranks.output(1).find("paused") != std::string::npos; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ranks.send(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  ranks.send(SIGCONT);
  EXPECT_THAT(ranks.wait(), testing::Each(0));
  for (int rank = 0; rank < 2; ++rank) EXPECT_THAT(ranks.output(rank), HasSubstr("of 2: 101 101"));
}

/// Rank 0 gathers, rank 1 waits for what rank 0 is to broadcast.
void expect_to_disagree_crosswise(Ranks ranks) {
  EXPECT_THAT(ranks.wait(), testing::Each(3));
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(ranks.output(rank),
                AllOf(HasSubstr("rank 0: gather of 2 float32"), HasSubstr("rank 1: broadcast of 2")));
  }
}

}  // namespace

TEST(Processes, SumInRegisteredAndPlainMemory) {
  Ranks ranks(3, "sum", job_of("sum"));
  EXPECT_THAT(ranks.wait(), testing::Each(0));
  for (int rank = 0; rank < 3; ++rank) EXPECT_THAT(ranks.output(rank), HasSubstr("of 3: 153 153"));
}

TEST(Processes, AForkedChildThatEndsDisturbsNobody) {
  Ranks ranks(2, "fork", job_of("fork"));
  EXPECT_THAT(ranks.wait(), testing::Each(0));
  EXPECT_THAT(ranks.output(0), AllOf(HasSubstr("registered: 2\n"), HasSubstr("rank 0 of 2: 101 101")));
}

TEST(Processes, ManyMoreThanCores) {
  Ranks ranks(9, "sum", job_of("many"));
  EXPECT_THAT(ranks.wait(), testing::Each(0));
}

TEST(Processes, GoOnAfterASuspensionLongerThanTheTimeout) {
  expect_to_go_on_after_a_suspension({2, "pause", job_of("pause"), {"LOCKSTEP_TIMEOUT=3s"}});
}

/// The promise is one second; the runtime looks around every 20 ms.
TEST(Processes, ADeadPeerIsNamedOnEverySurvivorWithinASecond) {
  Ranks ranks(4, "die", job_of("die"));
  const std::vector<int> codes = ranks.wait();
  EXPECT_EQ(codes[3], 1000 + SIGKILL);
  const std::int64_t died = time_after("died ", ranks.output(3));
  ASSERT_GT(died, 0);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(codes[static_cast<std::size_t>(rank)], 3);
    EXPECT_THAT(ranks.output(rank), AllOf(HasSubstr("peer 3"), HasSubstr("rank 3 died"), in_the_operation(),
                                          HasSubstr("gradients of layer1"),
                                          HasSubstr("code " + std::to_string(static_cast<int>(ErrorCode::kPeerDied)))));
    const double milliseconds = static_cast<double>(time_after("noticed ", ranks.output(rank)) - died) / 1000;
    RecordProperty("milliseconds_to_notice_on_rank_" + std::to_string(rank), std::to_string(milliseconds));
    EXPECT_LT(milliseconds, 1000);
  }
}

TEST(Processes, APeerThatVanishesIsNamed) {
  Ranks ranks(3, "vanish", job_of("vanish"));
  EXPECT_THAT(ranks.wait(), testing::ElementsAre(3, 3, 7));
  for (int rank = 0; rank < 2; ++rank) EXPECT_THAT(ranks.output(rank), HasSubstr("rank 2 died"));
}

TEST(Processes, DisagreementIsSeenByAll) {
  Ranks ranks(3, "disagree", job_of("disagree"));
  EXPECT_THAT(ranks.wait(), testing::Each(3));
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(ranks.output(rank), AllOf(HasSubstr("rank 0: all_reduce of 10 float32"), HasSubstr("all_reduce #1")));
  }
}

TEST(Processes, TwoThatOnlyWaitForEachOtherDisagree) { expect_to_disagree_crosswise({2, "cross", job_of("cross")}); }

TEST(Processes, TwoJobsAtOnceStayApart) {
  Ranks first(2, "sum", job_of("first"));
  Ranks second(3, "sum", job_of("second"));
  EXPECT_THAT(first.wait(), testing::Each(0));
  EXPECT_THAT(second.wait(), testing::Each(0));
  EXPECT_THAT(first.output(1), HasSubstr("of 2: 101 101"));
  EXPECT_THAT(second.output(1), HasSubstr("of 3: 153 153"));
}

TEST(Processes, LeaveNothingInSharedMemoryFolders) {
  Ranks ranks(2, "die", job_of("left"));
  ranks.wait();
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    EXPECT_EQ(entry.path().filename().string().find("lockstep"), std::string::npos) << entry.path();
  }
}

/// Ranks 0 and 2 say they are on one host, 1 and 3 on another, by their environment.
TEST(Processes, LearnWhichHostEachSaysItIsOn) {
  const std::string say = std::string("LOCKSTEP_HOST=host$((RANK % 2)) exec ") + LOCKSTEP_RANK_PROGRAM + " hosts";
  Command apart({LOCKSTEP_PROGRAM, "run", "-n", "4", "sh", "-c", say});
  EXPECT_EQ(apart.wait(), 0) << apart.errors();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(apart.output(), HasSubstr("rank " + std::to_string(rank) + " of hosts 0 1 0 1: 4 by hierarchical:"));
  }
  Ranks together(2, "hosts", job_of("hosts"));
  EXPECT_THAT(together.wait(), testing::Each(0));
  EXPECT_THAT(together.output(1), HasSubstr("rank 1 of hosts 0 0: 2 by naive"));
}

TEST(Processes, ATransportThatDoesNotWorkHereIsRefusedByName) {
  const auto command = sum_with_small_files({"LOCKSTEP_TRANSPORT=shm"});
  EXPECT_EQ(command->wait(), 3) << command->errors();
  EXPECT_THAT(
      command->output(),
      AllOf(HasSubstr("LOCKSTEP_TRANSPORT is 'shm', which does not work on this machine; take another, or auto. "
                      "No file may be larger than 512000 bytes here (ulimit -f)"),
            HasSubstr("code " + std::to_string(static_cast<int>(ErrorCode::kUnsupported)))));
}

/// How many ranks share a machine is the launcher's word, and may be wrong. Here it says of rank 0 that both are here,
/// and rank 1 is not; then of rank 1 as much, by saying nothing.
TEST(Processes, AWrongWordOnWhoIsHereIsNamedWhenNobodyComes) {
  const auto told = [](const std::string& rank, std::vector<std::string> environment) {
    Command::Options options;
    options.environment = std::move(environment);
    options.environment.insert(
        options.environment.end(),
        {"RANK=" + rank, "WORLD_SIZE=2", "LOCKSTEP_JOB=" + job_of("elsewhere-" + rank), "LOCKSTEP_JOIN_TIMEOUT=200ms"});
    Command command({LOCKSTEP_RANK_PROGRAM, "sum"}, options);
    EXPECT_EQ(command.wait(), 3);
    return command.output();
  };
  const auto because = [](const std::string& why) {
    return HasSubstr(
        "All 2 ranks were expected on this machine, in one network namespace, because " + why +
        "; if they are not, or shared memory does not work for one of them, set LOCKSTEP_TRANSPORT to tcp.");
  };
  EXPECT_THAT(told("0", {"LOCAL_WORLD_SIZE=2"}),
              AllOf(HasSubstr("peer 1"), HasSubstr("Rank 0 waited 0.2 s for rank 1 to join"),
                    because("LOCAL_WORLD_SIZE is 2")));
  EXPECT_THAT(told("1", {}), AllOf(HasSubstr("peer 0"), HasSubstr("Rank 1 waited 0.2 s for rank 0 to appear"),
                                   because("LOCAL_WORLD_SIZE is not set")));
}

class OverTcp : public tcp::WithHmac {};

TEST_F(OverTcp, Sum) {
  Ranks ranks(3, "sum", job_of("tcp-sum"), over_tcp());
  EXPECT_THAT(ranks.wait(), testing::Each(0));
  for (int rank = 0; rank < 3; ++rank) EXPECT_THAT(ranks.output(rank), HasSubstr("of 3: 153 153"));
}

TEST_F(OverTcp, AForkedChildThatEndsDisturbsNobody) {
  Ranks ranks(2, "fork", job_of("tcp-fork"), over_tcp());
  EXPECT_THAT(ranks.wait(), testing::Each(0));
  EXPECT_THAT(ranks.output(0), HasSubstr("rank 0 of 2: 101 101"));
}

/// The promise is one second.
TEST_F(OverTcp, ADeadPeerIsNamedOnEverySurvivorWithinASecond) {
  Ranks ranks(4, "die", job_of("tcp-die"), over_tcp());
  const std::vector<int> codes = ranks.wait();
  EXPECT_EQ(codes[3], 1000 + SIGKILL);
  const std::int64_t died = time_after("died ", ranks.output(3));
  ASSERT_GT(died, 0);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(codes[static_cast<std::size_t>(rank)], 3);
    EXPECT_THAT(ranks.output(rank), AllOf(HasSubstr("peer 3"), HasSubstr("rank 3 died"), in_the_operation(),
                                          HasSubstr("gradients of layer1")));
    EXPECT_LT(static_cast<double>(time_after("noticed ", ranks.output(rank)) - died) / 1000, 1000);
  }
}

/// Long before the deadline, which is ten minutes away.
TEST_F(OverTcp, TwoThatOnlyWaitForEachOtherDisagree) {
  expect_to_disagree_crosswise({2, "cross", job_of("tcp-cross"), over_tcp()});
}

TEST_F(OverTcp, GoOnAfterASuspensionLongerThanTheTimeout) {
  std::vector<std::string> environment = over_tcp();
  environment.emplace_back("LOCKSTEP_TIMEOUT=3s");
  expect_to_go_on_after_a_suspension({2, "pause", job_of("tcp-pause"), environment});
}

TEST_F(OverTcp, APeerThatVanishesIsNamed) {
  Ranks ranks(3, "vanish", job_of("tcp-vanish"), over_tcp());
  EXPECT_THAT(ranks.wait(), testing::ElementsAre(3, 3, 7));
  for (int rank = 0; rank < 2; ++rank) EXPECT_THAT(ranks.output(rank), HasSubstr("rank 2 died"));
}

TEST_F(OverTcp, AStoppedPeerIsNamedAtTheDeadline) {
  Ranks ranks(3, "freeze", job_of("tcp-freeze"), over_tcp());
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ranks.wait(rank), 3);
    EXPECT_THAT(ranks.output(rank), AllOf(HasSubstr("peer 2"), HasSubstr("all_reduce #3"), HasSubstr("waited 0.5 s")));
  }
}

TEST_F(OverTcp, AutoTakesItWhereSharedMemoryDoesNotWork) {
  const auto command = sum_with_small_files({});
  EXPECT_EQ(command->wait(), 0) << command->errors() << command->output();
  EXPECT_THAT(command->output(), AllOf(HasSubstr("rank 0 of 2: 101 101"), HasSubstr("rank 1 of 2: 101 101")));
}

/// Each waits for the other, by another way.
TEST_F(OverTcp, WhoPassedOverSharedMemorySaysSoWhenNobodyComes) {
  Command::Options options;
  options.environment = {"LOCKSTEP_JOIN_TIMEOUT=300ms"};
  Command command({LOCKSTEP_PROGRAM, "run", "-n", "2", "sh", "-c",
                   "test $RANK = 0 || ulimit -f 1000; exec " LOCKSTEP_RANK_PROGRAM " sum"},
                  options);
  EXPECT_NE(command.wait(), 0);
  EXPECT_THAT(command.output(), AnyOf(HasSubstr("This rank passed over what others may have taken; set "
                                                "LOCKSTEP_TRANSPORT alike for all. shm: No file may be larger than"),
                                      HasSubstr("or shared memory does not work for one of them")));
}

TEST_F(OverTcp, AWorldOfOneNeedsNoSharedMemory) {
  const testing_support::Result alone =
      testing_support::run_command({"sh", "-c", "ulimit -f 1000; exec " LOCKSTEP_RANK_PROGRAM " sum"});
  EXPECT_EQ(alone.code, 0) << alone.errors << alone.output;
  EXPECT_THAT(alone.output, HasSubstr("rank 0 of 1: "));
}

/// It says that each is alone; who shares a host is found by asking, and sums are as ever.
TEST_F(OverTcp, AWrongWordOnWhoIsHereOnlyChoosesTheTransport) {
  std::vector<std::string> environment = over_tcp();
  environment.front() = "LOCAL_WORLD_SIZE=1";
  Ranks ranks(2, "hosts", job_of("each-alone"), environment);
  EXPECT_THAT(ranks.wait(), testing::Each(0));
  EXPECT_THAT(ranks.output(1), HasSubstr("rank 1 of hosts 0 0: 2 by recursive_doubling"));
}

TEST_F(OverTcp, AWrongTransportIsSaid) {
  Ranks ranks(2, "sum", job_of("tcp-wrong"), {"LOCKSTEP_TRANSPORT=pigeon"});
  EXPECT_THAT(ranks.wait(), testing::Each(3));
  EXPECT_THAT(ranks.output(0), HasSubstr("LOCKSTEP_TRANSPORT is 'pigeon'; it takes auto, shm, tcp or mpi"));
}

TEST_F(OverTcp, UnderOurLauncherRanksMeet) {
  Command::Options options;
  options.environment = {"LOCKSTEP_TRANSPORT=tcp"};
  Command command({LOCKSTEP_PROGRAM, "run", "-n", "2", LOCKSTEP_RANK_PROGRAM, "sum"}, options);
  EXPECT_EQ(command.wait(), 0) << command.errors() << command.output();
  EXPECT_THAT(command.output(), AllOf(HasSubstr("rank 0 of 2: 101 101"), HasSubstr("rank 1 of 2: 101 101")));
}

/// It knows all that rank 1 does but the secret, and comes first.
TEST_F(OverTcp, AStrangerWithoutTheSecretIsRefusedAndTheJobGoesOn) {
  Command::Options options;
  options.environment = {"LOCKSTEP_TRANSPORT=tcp", "LOCKSTEP_JOIN_TIMEOUT=20s"};
  Command command(
      {LOCKSTEP_PROGRAM, "run", "-n", "2", "sh", "-c",
       "test $RANK = 0 || env -u LOCKSTEP_SECRET_FD " LOCKSTEP_RANK_PROGRAM " sum; exec " LOCKSTEP_RANK_PROGRAM " sum"},
      options);
  EXPECT_EQ(command.wait(), 0) << command.errors() << command.output();
  EXPECT_THAT(command.output(), AllOf(HasSubstr("rank 1 and rank 0 do not share a secret and a job"),
                                      HasSubstr("rank 0 of 2: 101 101"), HasSubstr("rank 1 of 2: 101 101")));
}

TEST(Launchers, OurOwn) { expect_sums({LOCKSTEP_PROGRAM, "run", "-n", "2"}); }

TEST(Launchers, Mpirun) {
  if (std::string(LOCKSTEP_MPIRUN).empty()) GTEST_SKIP() << "mpirun is not installed";
  expect_sums({LOCKSTEP_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", "2"});
}

TEST(Launchers, Torchrun) {
  if (std::string(LOCKSTEP_TORCHRUN).empty())
    GTEST_SKIP() << "torchrun is not installed (it comes with PyTorch's wheel)";
  const ScratchFolder scratch;  // it leaves a folder behind where it keeps temporary files
  Command::Options options;
  options.environment = {"TMPDIR=" + scratch.path().string()};
  // With underscores, which older ones want and newer ones take too.
  const std::vector<std::string> torchrun{LOCKSTEP_TORCHRUN, "--standalone", "--no_python", "--nproc_per_node=2"};
  std::vector<std::string> nothing = torchrun;
  nothing.push_back("true");
  Command probe(nothing, options);
  if (probe.wait() != 0) GTEST_SKIP() << LOCKSTEP_TORCHRUN << " cannot even start `true` (Debian 12's has that fault)";
  expect_sums(torchrun, options);
}

}  // namespace lockstep
