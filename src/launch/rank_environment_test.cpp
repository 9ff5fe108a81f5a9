#include "launch/rank_environment.h"

#include "base/child_for_tests.h"
#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"
#include "base/network_for_tests.h"
#include "base/secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {

using testing::Contains;
using testing::Each;
using testing::Not;
using testing::StartsWith;

TEST(RankEnvironment, HasTorchrunsVariablesInPlaceOfInheritedOnes) {
  const Job job{.id = "abc",
                .port = 1234,
                .ranks = 4,
                .cpus = 8,
                .threads = 2,
                .meeting_port = {.socket = {}, .number = 4321},
                .secret = {}};
  const auto variables =
      rank_environment(job, 3, {"RANK=9", "RANKS=1", "PATH=/bin", "LOCKSTEP_JOB=outer", "LOCKSTEP_CPUS=64"});
  for (const char* expected :
       {"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=1234",
        "LOCKSTEP_JOB=abc", "OMP_NUM_THREADS=2", "OPENBLAS_NUM_THREADS=2", "MKL_NUM_THREADS=2", "LOCKSTEP_PORT=4321",
        "LOCKSTEP_CPUS=8", "OMP_WAIT_POLICY=passive", "PATH=/bin", "RANKS=1"}) {
    EXPECT_THAT(variables, Contains(expected).Times(1));
  }
  EXPECT_THAT(variables, Contains(StartsWith("RANK=")).Times(1));
  EXPECT_THAT(variables, Contains(StartsWith("GLIBC_TUNABLES=glibc.malloc.mmap_threshold=")));
  EXPECT_THAT(variables, Each(Not("LOCKSTEP_JOB=outer")));
}

TEST(RankEnvironment, ThreadsAndAllocatorStayAsTheUserSetThem) {
  const auto variables =
      rank_environment({.id = "", .threads = 2, .secret = {}}, 0,
                       {"OMP_NUM_THREADS=8", "MKL_NUM_THREADS=", "OMP_WAIT_POLICY=active", "GLIBC_TUNABLES=a=b"});
  for (const char* expected : {"OMP_NUM_THREADS=8", "MKL_NUM_THREADS=", "OPENBLAS_NUM_THREADS=8",
                               "OMP_WAIT_POLICY=active", "GLIBC_TUNABLES=a=b"}) {
    EXPECT_THAT(variables, Contains(expected));
  }
}

TEST(RankEnvironment, OpenBlasIsToldOfTheCoresWhereItMustBe) {
  const Job job{.id = "", .openblas_core_type = "SkylakeX", .secret = {}};
  EXPECT_THAT(rank_environment(job, 0, {}), Contains("OPENBLAS_CORETYPE=SkylakeX"));
  EXPECT_THAT(rank_environment(job, 0, {"OPENBLAS_CORETYPE=Zen"}), Contains("OPENBLAS_CORETYPE=Zen").Times(1));
  EXPECT_THAT(rank_environment(job, 0, {"OPENBLAS_CORETYPE=Zen"}), Each(Not("OPENBLAS_CORETYPE=SkylakeX")));
  EXPECT_THAT(rank_environment({.id = "", .secret = {}}, 0, {}), Each(Not(StartsWith("OPENBLAS_CORETYPE="))));
}

TEST(RankEnvironment, CoresAreSharedOutAndEachJobHasItsOwnIdentity) {
  EXPECT_EQ(make_job(2, {.cores = 8, .threads = 16}).threads, 4);
  EXPECT_EQ(make_job(3, {.cores = 8, .threads = 16}).threads, 2);
  EXPECT_EQ(make_job(16, {.cores = 8, .threads = 16}).threads, 1);
  const Job job = make_job(1, {});
  EXPECT_THAT(job.id, testing::MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(job.id, make_job(1, {}).id);
  EXPECT_GT(job.port, 0);
  EXPECT_GT(job.meeting_port.number, 0);
  EXPECT_NE(job.meeting_port.number, job.port);
  EXPECT_TRUE(job.meeting_port.socket) << "the port is not held";
}

TEST(RankEnvironment, AJobThatLacksAPortOrASocketIsNone) {
  const auto make = [] {
    (void)make_job(1, {});
    return "made";
  };
  // It needs two.
  if (const auto said = testing_support::said_in_child(testing_support::leave_one_port, make)) {
    EXPECT_EQ(*said, "Finding a free port on 127.0.0.1 failed: Address already in use.");
  }
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT(make, testing_support::refuses(ErrorCode::kTransport,
                                             "Making a socket to find a free port failed: Too many open files"));
}

/// The environment says which descriptor holds the secret, and nothing of the secret.
TEST(RankEnvironment, TheSecretIsInheritedNotListed) {
  const Job job = make_job(2, {.cores = 2, .threads = 2});
  const auto variables = rank_environment(job, 0, {"LOCKSTEP_SECRET_FD=7"});
  EXPECT_THAT(variables, Contains("LOCKSTEP_SECRET_FD=" + std::to_string(job.secret.get())));
  EXPECT_THAT(variables, Contains(StartsWith("LOCKSTEP_SECRET")).Times(1));
  EXPECT_TRUE(Secret::find([&](const char* name) -> std::optional<std::string> {
    if (std::string(name) == "LOCKSTEP_SECRET_FD") return std::to_string(job.secret.get());
    return std::nullopt;
  }));
}

}  // namespace lockstep
