// The suite itself: a rank that ends early fails it, whatever ended it.
#include "tests/conformance/worlds.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <string>
#include <vector>

namespace lockstep::conformance {

namespace {

/// What a test of this body would be told, as far as it comes from run_world() itself.
std::vector<std::string> failures_of(const Setting& setting, const std::function<void(Member&)>& body) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter intercepted(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    run_world(setting, body);
  }
  std::vector<std::string> failures;
  for (int i = 0; i < results.size(); ++i) failures.emplace_back(results.GetTestPartResult(i).message());
  return failures;
}

/// Of threads and of processes.
class Worlds : public testing::TestWithParam<Home> {};
INSTANTIATE_TEST_SUITE_P(Of, Worlds, testing::Values(Home::kThreads, Home::kProcesses),
                         [](const auto& home) { return home.param == Home::kThreads ? "threads" : "processes"; });

}  // namespace

TEST_P(Worlds, APeerThatLeftThoughNoneFailedIsAFailure) {
  const Setting setting{Medium::kSharedMemory, GetParam(), 3};
  const auto on_all = [](Member&) { throw Error(ErrorCode::kPeerLeft, "rank 1 has left"); };
  EXPECT_THAT(failures_of(setting, on_all), testing::ElementsAre(testing::HasSubstr("that a peer left though none")));
  const auto on_one = [](Member& member) {
    if (member.world.rank() == 2) throw Error(ErrorCode::kPeerLeft, "rank 1 has left");
  };
  EXPECT_THAT(failures_of(setting, on_one), testing::ElementsAre(testing::HasSubstr("{ 0, 0, 1 }")));
}

TEST_P(Worlds, WhatGoesWellIsNone) {
  const Setting setting{Medium::kSharedMemory, GetParam(), 3};
  EXPECT_THAT(failures_of(setting, [](Member& member) { member.world.barrier().wait(); }), testing::IsEmpty());
}

}  // namespace lockstep::conformance
